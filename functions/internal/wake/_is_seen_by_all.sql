create or replace function pgbaton._is_seen_by_all(seen_from xid8)
returns boolean
language plpgsql volatile
as $$
begin
    -- No older transaction has an id and is open, whatever it does.
    if pg_snapshot_xmin(pg_current_snapshot()) >= seen_from then
        return true;
    elsif not pgbaton._is_read_committed() then
        return false;  -- what ended meanwhile would not be seen
    end if;
    return not exists (
        -- Once, since each mention of pg_locks reads them at another time.
        with held as materialized (
            select l.virtualtransaction, l.relation, l.transactionid, l.mode
            from pg_locks as l
            where l.granted and (
                (l.locktype = 'transactionid' and l.mode = 'ExclusiveLock')
                or (l.locktype = 'relation' and l.mode = 'RowExclusiveLock'
                    and l.relation in ('pgbaton.span'::regclass, 'pgbaton.ready_span'::regclass)
                    and l.database = (select d.oid from pg_database as d where d.datname = current_database()))
            )
        )
        select from held as w
        inner join held as x on x.virtualtransaction = w.virtualtransaction
        where w.relation is not null and age(x.transactionid) > age(seen_from::xid)
    );
end;
$$;
comment on function pgbaton._is_seen_by_all(xid8) is
'Whether no transaction older than that one can still make a job claimable without having seen the sleeper in question:
it would have an id and the lock of those who write to span or ready_span. Look for jobs in a later statement: what
ended before this one is visible to it.';
