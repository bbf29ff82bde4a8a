create or replace function pgbaton._run_class(state pgbaton.job_state)
returns text
language sql immutable parallel safe
as $$
    select case
        when state in ('waiting', 'pending', 'retry', 'unknown_retry') then 'waiting'
        when state in ('active', 'cancelling') then 'running'
        when state = 'failed' then 'failed'
        when state = 'completed' then 'completed'
        else 'stopped'
    end
$$;
comment on function pgbaton._run_class(pgbaton.job_state) is
'Where run_report counts jobs of a state. No search_path, so that it inlines.';
