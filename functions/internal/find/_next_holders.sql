create or replace function pgbaton._next_holders(place pgbaton.blocked_place, queue_ids integer[], most integer)
returns pgbaton.blocked_place[]
language plpgsql stable
as $$
declare
    -- Nothing of a standard queue holds a key.
    v_queue_ids constant integer[] := array(
        select q.id from pgbaton.queue as q
        where q.policy <> 'standard' and (_next_holders.queue_ids is null or q.id = any (_next_holders.queue_ids))
    );
    v_failed pgbaton.blocked_place[] := '{}';
begin
    if place.state = 'failed' then
        v_failed := array(
            select row('failed', r.ended_at, r.queue_id, null, r.lo, s.held_key)::pgbaton.blocked_place
            from pgbaton._ranges_failed(v_queue_ids, place.at, place.lo, most, true) as r
            cross join lateral (select n.held_key from only pgbaton.span as n where n.lo = r.lo offset 0) as s
        );
        if cardinality(v_failed) >= most then
            return v_failed;
        end if;
        place := pgbaton._holder_place('retry');
    end if;
    -- Those that wait for another reason are passed. Of what is due at one time they stand last: changed_at is null.
    return v_failed || array(
        select row(
            'retry', s.run_at, s.queue_id, s.changed_at, s.lo,
            case when s.state = 'retry' and s.queue_id = any (v_queue_ids) then s.held_key end
        )::pgbaton.blocked_place
        from only pgbaton.span as s
        where not s.ready and s.state in ('pending', 'retry', 'unknown_retry', 'failed') and s.run_at < 'infinity'
            and (s.run_at, s.queue_id, s.changed_at, s.lo)
            > (place.at, place.queue_id, coalesce(place.changed_at, 'infinity'), place.lo)
        order by s.run_at, s.queue_id, s.changed_at, s.lo
        limit most - cardinality(v_failed)
    );
end;
$$;
comment on function pgbaton._next_holders(pgbaton.blocked_place, integer[], integer) is
'What a search for blocked keys looks at next, in its order, at most so many rows; fewer are the last ones. held_key is
null where a job blocks none. Reads as many dead letters of each queue.';
