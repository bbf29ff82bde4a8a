create or replace function pgbaton._admit(
    queue_id integer, wanted bigint, before bigint, free pgbaton.permit[], most bigint,
    inout permits pgbaton.permit[], out admitted bigint
)
language plpgsql volatile
as $$
declare
    v_free cursor (a_candidates pgbaton.permit[], a_taken integer[]) for
        select k.no, k.version, c.units, c.used
        from unnest(a_candidates) as c
        cross join lateral (
            -- This one or none: whoever holds it starts a job with it.
            select p.no, p.version from pgbaton.permit as p
            where p.queue_id = c.queue_id and p.kind = c.kind and p.no = c.no and p.version = c.version
            for update skip locked
        ) as k
        where c.no <> all (a_taken);
    v_limit pgbaton.queue_limit;
    v_permit record;
    v_candidates pgbaton.permit[];
    v_asked bigint;  -- so many were looked for: when there are as many, there may be more
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
        v_over := case when v_limit.last_no > v_limit.permits then pgbaton._used_beyond(v_limit) else 0 end;
        select before + admitted + v_over - coalesce(sum(p.units - p.used), 0) into v_need
        from unnest(permits) as p
        where p.queue_id = _admit.queue_id and p.kind = v_limit.kind;
        v_candidates := array(
            select f::pgbaton.permit from unnest(free) as f
            where f.queue_id = _admit.queue_id and f.kind = v_limit.kind
        );
        v_asked := most;
        loop
            -- One by one: a permit that is locked and not needed would keep others from work.
            open v_free(v_candidates, array(
                select p.no from unnest(permits) as p where p.queue_id = _admit.queue_id and p.kind = v_limit.kind
            ));
            while v_need > 0 loop
                fetch v_free into v_permit;
                exit when not found;
                permits := permits || row(
                    queue_id, v_limit.kind, v_permit.no, v_permit.version, v_permit.units, v_permit.used, null, null,
                    null
                )::pgbaton.permit;
                v_need := v_need - (v_permit.units - v_permit.used);
            end loop;
            close v_free;
            exit when v_need <= 0 or cardinality(v_candidates) < v_asked;
            v_asked := 2 * v_asked;
            v_candidates := pgbaton._free_permits(v_limit, v_candidates[cardinality(v_candidates)].no, v_asked);
        end loop;
        admitted := greatest(admitted - greatest(v_need, 0), 0);
        exit when admitted = 0;
    end loop;
end;
$$;
comment on function pgbaton._admit(integer, bigint, bigint, pgbaton.permit[], bigint, pgbaton.permit[]) is
'How many more jobs of a queue may start, at most wanted, in a claim that has before of them already. Locks the permits
that this takes, waiting for nobody, and adds them to permits, with what was used of each until now. free: those of each
limit that _open_queues found when it looked for that many.';
