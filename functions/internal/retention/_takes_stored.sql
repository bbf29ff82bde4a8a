create or replace function pgbaton._takes_stored(
    queue pgbaton.queue, singleton_keys text[], run_ats timestamptz[]
)
returns boolean
language sql immutable parallel safe
as $$
    select case queue.policy
        when 'standard' then num_nonnulls(singleton_keys, run_ats) = 0
        else queue.policy in ('fifo', 'singleton')
    end
$$;
comment on function pgbaton._takes_stored(pgbaton.queue, text[], timestamptz[]) is
'Whether jobs of the queue can get their place in line after they were stored, as _line_up_stored does it: those of
policies that allow any number of a key, and jobs without keys that may run at once. No search_path, so that it
inlines.';
