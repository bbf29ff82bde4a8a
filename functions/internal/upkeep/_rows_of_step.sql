create or replace function pgbaton._rows_of_step(step text, at timestamptz)
returns text[]
language plpgsql volatile
as $$
begin
    -- Locked, since nobody shall be waited for later. What somebody else has locked is left to the next call.
    case step
        when 'log of blocked keys' then return pgbaton._blocks_to_note(at);
        when 'ends of blocks' then return pgbaton._blocks_that_ended(at);
        when 'blocks of long ago' then return pgbaton._blocks_to_forget(at);
        when 'dedup ids' then return pgbaton._old_dedup_ids(at);
        when 'rows staged by Spark' then return pgbaton._old_chunks(at);
        when 'runs of Spark' then return pgbaton._old_runs(at);
        when 'sleepers that are gone' then return pgbaton._gone_sleepers();
        when 'workers' then return array(
            select w.worker_id from pgbaton.worker as w
            where w.heartbeat_at < at - interval '1 day'
            limit 10000
            for update skip locked
        );
        when 'lease losses' then return pgbaton._lease_losses_to_merge();
        when 'keys' then return pgbaton._keys_to_heal(10000);
        when 'rates of keys' then return array(
            select l.queue_id::text from pgbaton.queue_limit as l where l.kind = 'key_rate' order by l.queue_id
        );
        when 'starts of keys' then return pgbaton._old_key_starts(at);
        when 'dead letters' then return pgbaton._old_dead_letters(at);
        when 'partitions' then return pgbaton._partitions_to_add();
        when 'days' then return pgbaton._days_to_drop(at);
        else raise exception using
            errcode = 'case_not_found',
            message = format('the upkeep has no step "%s"', step),
            hint = 'The steps are the cases of the function _do_step.';
    end case;
end;
$$;
comment on function pgbaton._rows_of_step(text, timestamptz) is
'The rows that a step of the upkeep has to handle, by names that _do_rows knows; bounded.';
