create or replace function pgbaton._open_queues(
    queue_ids integer[], limited_ids integer[], most bigint default 1, out open_ids integer[],
    out free pgbaton.permit[]
)
language plpgsql volatile
as $$
declare
    v_limit pgbaton.queue_limit;
    v_free pgbaton.permit[];
    v_is_open boolean;
begin
    open_ids := queue_ids;
    for v_limit in
        select l.* from pgbaton.queue_limit as l
        where l.queue_id = any (limited_ids) and l.kind in ('running', 'rate', 'burst')
    loop
        v_free := pgbaton._free_permits(v_limit, 0, most);
        v_is_open := v_free <> '{}';
        if v_is_open and v_limit.last_no > v_limit.permits then
            v_is_open := (
                select count(*) filter (where h.used = 0 and h.no <= v_limit.permits)
                    > count(*) filter (where h.used > 0 and h.no > v_limit.permits)
                from pgbaton._permits(v_limit, pgbaton._now()) as h
            );
        end if;
        if v_is_open then
            free := free || v_free;
        else
            open_ids := array_remove(open_ids, v_limit.queue_id);
        end if;
    end loop;
end;
$$;
comment on function pgbaton._open_queues(integer[], integer[], bigint) is
'Those of these queues whose limits, which limited_ids have, let a further job start now, and the first free permits of
each of their limits, at most so many.';
