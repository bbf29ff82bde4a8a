create or replace function pgbaton._unsettled_from()
returns bigint
language sql volatile
as $$
    select case
        when current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
            then pgbaton._released_from()
        when pg_sequence_last_value('pgbaton.baton_release_id_seq')
            >= coalesce(pg_sequence_last_value('pgbaton.release_floor_seq'), 1)
            then coalesce(pg_sequence_last_value('pgbaton.release_floor_seq'), 1)
    end
$$;
comment on function pgbaton._unsettled_from() is
'The id from which on claims read release rows and rewinds, null when all that were drawn are settled, which is known
without a look at a table. Ask before the statement that reads them. An older snapshot goes by the watermark that it
sees. No search_path, so that it inlines.';
