create or replace function pgbaton._do_rows(step text, at timestamptz, names text[])
returns jsonb
language plpgsql volatile
as $$
begin
    case step
        when 'log of blocked keys' then perform pgbaton._log_blocks(at, names::bigint[]);
        when 'ends of blocks' then
            update pgbaton.key_block as b set ended_at = at
            where b.ended_at is null and b.job_id = any (names::bigint[]);
        when 'blocks of long ago' then delete from pgbaton.key_block as b where b.job_id = any (names::bigint[]);
        when 'dedup ids' then perform pgbaton._forget_dedup_ids(at, names);
        when 'rows staged by Spark' then perform pgbaton._drop_chunks(names);
        when 'runs of Spark' then perform pgbaton._forget_runs(at, names);
        when 'sleepers that are gone' then delete from pgbaton.sleeper as s where s.id = any (names::bigint[]);
        -- Each start of a worker may bring a new name.
        when 'workers' then
            delete from pgbaton.worker as w
            where w.worker_id = any (names) and w.heartbeat_at < at - interval '1 day';
        when 'lease losses' then perform pgbaton._merge_lease_losses(names::integer[]);
        when 'keys' then return jsonb_build_object('keys_healed', pgbaton._heal_keys(names));
        when 'rates of keys' then perform pgbaton._mend_key_rates(at, names::integer[]);
        when 'starts of keys' then perform pgbaton._forget_key_starts(at, names);
        when 'dead letters' then
            return jsonb_build_object('dead_letters_expired', pgbaton._expire_dead_letters(names::bigint[]));
        when 'partitions' then return jsonb_build_object('partitions_added', pgbaton._keep_partitions(names));
        when 'days' then return jsonb_build_object('days_dropped', pgbaton._keep_days(at, names::date[]));
    end case;
    return jsonb '{}';
end;
$$;
comment on function pgbaton._do_rows(text, timestamptz, text[]) is
'A step of the upkeep for these of the rows that _rows_of_step found; returns what it counts.';
