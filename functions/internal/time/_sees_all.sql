create or replace function pgbaton._sees_all()
returns boolean
language plpgsql volatile
as $$
declare
    v_snapshot constant pg_snapshot := pg_current_snapshot();
    v_first constant bigint := pg_snapshot_xmax(v_snapshot)::text::bigint;
    v_own bigint;
begin
    if pgbaton._is_read_committed() then
        return true;
    elsif pg_current_xact_id_if_assigned() is not null then
        return false;  -- who came after it cannot be told
    end if;
    v_own := pg_current_xact_id()::text::bigint;
    -- What the snapshot does not see is what ran when it was taken and what began from then on.
    return v_own < v_first + 1000 and not exists (
        select from (
            select pg_snapshot_xip(v_snapshot) as xid
            union all
            select n.xid::text::xid8 from generate_series(v_first, v_own - 1) as n (xid)
        ) as u
        where pg_xact_status(u.xid) = 'committed'
    );
end;
$$;
comment on function pgbaton._sees_all() is
'Whether what was committed until now is visible to this transaction: always under READ COMMITTED, else when nothing was
committed since its snapshot. Never so when it has a transaction id already or the snapshot is more than a thousand
transactions old.';
