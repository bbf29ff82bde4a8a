create or replace function pgbaton._next_head(lane_id integer, is_plain boolean, after bigint)
returns bigint
language plpgsql volatile
as $$
begin
    if is_plain then
        return (
            select s.position from pgbaton.ready_span as s
            where s.lane_id = _next_head.lane_id and s.position > after
            order by s.lane_id, s.position
            limit 1
        );
    end if;
    return (
        select s.position from only pgbaton.span as s
        where s.lane_id = _next_head.lane_id and s.ready and s.position > after
        order by s.lane_id, s.position
        limit 1
    );
end;
$$;
comment on function pgbaton._next_head(integer, boolean, bigint) is
'The first claimable position of a lane after that one, null when there is none. is_plain: of a standard queue.';
