create or replace function pgbaton._used_beyond(
    queue_id integer, kind pgbaton.limit_kind, size integer, permits integer
)
returns bigint
language plpgsql volatile
as $$
declare
    v_beyond record;
begin
    -- All of them, so that no two claims count on the same ones.
    select count(*) as number, count(k.no) as locked, count(*) filter (where h.used > 0) as used into v_beyond
    from pgbaton._permits(_used_beyond.queue_id, _used_beyond.kind, pgbaton._now()) as h
    left join lateral (
        select p.no from pgbaton.permit as p
        where p.queue_id = _used_beyond.queue_id and p.kind = _used_beyond.kind and p.no = h.no
            and p.version = h.version
        for update skip locked
    ) as k on true
    where h.no > _used_beyond.permits;
    if v_beyond.locked < v_beyond.number then
        return size;  -- somebody else decides
    elsif v_beyond.used = 0 then
        perform from pgbaton.queue_limit as l
        where l.queue_id = _used_beyond.queue_id and l.kind = _used_beyond.kind
        for no key update skip locked;
        if found then
            delete from pgbaton.permit as p
            where p.queue_id = _used_beyond.queue_id and p.kind = _used_beyond.kind
                and p.no > _used_beyond.permits;
            update pgbaton.queue_limit as l set last_no = l.permits
            where l.queue_id = _used_beyond.queue_id and l.kind = _used_beyond.kind;
        end if;
    end if;
    return v_beyond.used;
end;
$$;
comment on function pgbaton._used_beyond(integer, pgbaton.limit_kind, integer, integer) is
'How many permits above the size of a limit that was lowered are still used; the size itself when that cannot be told
without waiting. Removes them when none is.';
