create or replace function pgbaton._claimable_queues(
    queues text[], out ids integer[], out plain_ids integer[], out limited_ids integer[],
    out lease interval
)
language plpgsql volatile
as $$
declare
    v_number bigint;
    v_allowed integer[];
begin
    if not pgbaton._is_read_committed() then
        -- Raises when one of them was changed since the snapshot: paused, dropped, granted to others.
        perform from pgbaton.queue as q where queues is null or q.name = any (queues) order by q.id for share;
    end if;
    if queues is null then
        v_allowed := pgbaton._allowed_queues('work');
        select
            array_agg(q.id), array_agg(q.id order by q.id) filter (where q.policy = 'standard'),
            array_agg(q.id) filter (where q.is_limited), case when min(q.lease) = max(q.lease) then min(q.lease) end
        into ids, plain_ids, limited_ids, lease
        from pgbaton.queue as q
        where not q.is_paused and (v_allowed is null or q.id = any (v_allowed));
        return;
    end if;
    if array_ndims(queues) is distinct from 1 or array_position(queues, null) is not null then
        perform pgbaton._check_flat('queues', array_ndims(queues));
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'queues is empty or holds a null',
            hint = 'Name the queues to work on, or pass null for all.';
    end if;
    select
        array_agg(q.id) filter (where not q.is_paused),
        array_agg(q.id order by q.id) filter (where not q.is_paused and q.policy = 'standard'),
        array_agg(q.id) filter (where not q.is_paused and q.is_limited),
        case when min(q.lease) = max(q.lease) then min(q.lease) end, count(*)
    into ids, plain_ids, limited_ids, lease, v_number
    from pgbaton.queue as q
    where q.name = any (queues);
    if v_number < cardinality(queues) then
        -- A name is unknown or stands there twice.
        perform pgbaton._require_queue(u.name) from unnest(queues) as u (name);
    end if;
    if pgbaton._has_grants() then
        v_allowed := pgbaton._allowed_queues('work');
        if v_allowed is not null then
            perform pgbaton._require_action(q, 'work') from pgbaton.queue as q
            where q.name = any (queues) and q.id <> all (v_allowed);
        end if;
    end if;
end;
$$;
comment on function pgbaton._claimable_queues(text[]) is
'Ids of those of the queues (null: all) that are not paused, null if there are none, and which of them are standard
queues, in order, which have limits, and the lease that all of them have, null when they differ. Raises PB001 for an
unknown one, PB009, 22023 for an empty list or a null, 2202E for one of several dimensions, 40001 when one was changed
since an older snapshot.';
