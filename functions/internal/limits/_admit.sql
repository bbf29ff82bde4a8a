create or replace function pgbaton._admit(
    queue_id integer, wanted bigint, before bigint, inout permits pgbaton.permit[], out admitted bigint
)
language plpgsql volatile
as $$
declare
    v_free cursor (a_kind pgbaton.limit_kind, a_size integer, a_taken integer[]) for
        select h.no, h.version, h.units, h.used
        -- The time after the snapshot: earlier, what another claim has used since would look like a clock set back.
        from (select pgbaton._now() as at offset 0) as t
        cross join lateral pgbaton._permits(_admit.queue_id, a_kind, t.at) as h
        cross join lateral (
            -- This one or none: whoever holds it starts a job with it.
            select p.no from pgbaton.permit as p
            where p.queue_id = _admit.queue_id and p.kind = a_kind and p.no = h.no and p.version = h.version
            for update skip locked
        ) as k
        where h.no <= a_size and h.used < h.units and h.no <> all (a_taken);
    v_limit record;
    v_permit record;
    v_need bigint;
    v_over bigint;
begin
    admitted := wanted;
    if not pg_try_advisory_xact_lock_shared(pgbaton._lock_class() + 5, queue_id) then
        admitted := 0;  -- somebody changes the limits
        return;
    end if;
    for v_limit in
        select l.* from pgbaton.queue_limit as l
        where l.queue_id = _admit.queue_id and l.kind in ('running', 'rate', 'burst')
        order by l.kind
    loop
        v_over := case
            when v_limit.last_no > v_limit.permits
                then pgbaton._used_beyond(queue_id, v_limit.kind, v_limit.size, v_limit.permits)
            else 0
        end;
        select before + admitted + v_over - coalesce(sum(p.units - p.used), 0) into v_need
        from unnest(permits) as p
        where p.queue_id = _admit.queue_id and p.kind = v_limit.kind;
        -- One by one: a permit that is locked and not needed would keep others from work.
        open v_free(v_limit.kind, v_limit.permits, array(
            select p.no from unnest(permits) as p where p.queue_id = _admit.queue_id and p.kind = v_limit.kind
        ));
        while v_need > 0 loop
            fetch v_free into v_permit;
            exit when not found;
            permits := permits || row(
                queue_id, v_limit.kind, v_permit.no, v_permit.version, v_permit.units, v_permit.used, null, null, null
            )::pgbaton.permit;
            v_need := v_need - (v_permit.units - v_permit.used);
        end loop;
        close v_free;
        admitted := greatest(admitted - greatest(v_need, 0), 0);
        exit when admitted = 0;
    end loop;
end;
$$;
comment on function pgbaton._admit(integer, bigint, bigint, pgbaton.permit[]) is
'How many more jobs of a queue may start, at most wanted, in a claim that has before of them already. Locks the permits
that this takes, waiting for nobody, and adds them to permits, with what was used of each until now.';
