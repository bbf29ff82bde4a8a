create or replace function pgbaton._used_beyond(of_limit pgbaton.queue_limit)
returns bigint
language plpgsql volatile
as $$
declare
    v_beyond record;
begin
    -- All of them, so that no two claims count on the same ones.
    select count(*) as number, count(k.no) as locked, count(*) filter (where h.used > 0) as used into v_beyond
    from pgbaton._permits(of_limit, pgbaton._now()) as h
    left join lateral (
        select p.no from pgbaton.permit as p
        where p.queue_id = of_limit.queue_id and p.kind = of_limit.kind and p.no = h.no and p.version = h.version
        for update skip locked
    ) as k on true
    where h.no > of_limit.permits;
    if v_beyond.locked < v_beyond.number then
        return of_limit.size;  -- somebody else decides
    elsif v_beyond.used = 0 then
        perform from pgbaton.queue_limit as l
        where l.queue_id = of_limit.queue_id and l.kind = of_limit.kind
        for no key update skip locked;
        if found then
            delete from pgbaton.permit as p
            where p.queue_id = of_limit.queue_id and p.kind = of_limit.kind and p.no > of_limit.permits;
            update pgbaton.queue_limit as l set last_no = l.permits
            where l.queue_id = of_limit.queue_id and l.kind = of_limit.kind;
        end if;
    end if;
    return v_beyond.used;
end;
$$;
comment on function pgbaton._used_beyond(pgbaton.queue_limit) is
'How many permits above the size of a limit that was lowered are still used; the size itself when that cannot be told
without waiting. Removes them when none is.';
