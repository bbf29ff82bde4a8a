create or replace function pgbaton._raise_release_floor(released_from bigint)
returns void
language plpgsql volatile
as $$
declare
    v_floor constant bigint := pgbaton._unsettled_from();
    v_settled bigint;
begin
    -- With a transaction id, what is gone may be what this transaction deleted, and come back.
    if v_floor is null or pg_current_xact_id_if_assigned() is not null or not pgbaton._is_read_committed() then
        return;
    end if;
    select greatest(released_from, least(
        h.value + 1,
        (select r.id from pgbaton.baton_release as r where r.id >= v_floor order by r.id limit 1),
        (select r.id from pgbaton.rewind as r where r.id >= v_floor order by r.id limit 1)
    ))
    into v_settled
    from (
        select w.value, w.below_xid from pgbaton.watermark as w
        where w.kind = 'release_horizon' and w.lane_id = 0
        order by w.kind desc, w.lane_id desc, w.value desc
        limit 1
    ) as h
    where h.below_xid <= pg_snapshot_xmin(pg_current_snapshot());
    v_settled := coalesce(v_settled, released_from);
    if v_settled > v_floor then
        perform setval('pgbaton.release_floor_seq', v_settled);
    end if;
end;
$$;
comment on function pgbaton._raise_release_floor(bigint) is
'Raises release_floor_seq to the watermark of released rows, released_from, and beyond it up to the first release row or
rewind that is there, as far as all transactions that drew a number have ended. To be called before a transaction
writes. When two do it at once, the lower one may stay: it is raised again.';
