create or replace function pgbaton._sleepers_from()
returns bigint
language sql volatile
as $$
    select coalesce(pg_sequence_last_value('pgbaton.sleeper_floor_seq'), 0) - case
        when current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then 0
        else 10000
    end
$$;
comment on function pgbaton._sleepers_from() is
'The number from which on sleepers count: below stand only dead rows, which nobody reads. Ask before the statement that
reads sleepers, since a row may get a higher number meanwhile. An older snapshot knows those of its time, which stand
lower. No search_path, so that it inlines.';
