create or replace function pgbaton._keys_to_heal(max_keys integer)
returns text[]
language plpgsql volatile
as $$
declare
    v_place record;
    v_seen integer;
    v_queue_ids integer[];
    v_keys text[];
begin
    if not pgbaton._is_read_committed() then
        return '{}';
    end if;
    select
        coalesce(max(p.queue_id), 0) as queue_id, coalesce(max(p.singleton_key), '') as singleton_key
    into v_place
    from pgbaton.heal_place as p;
    with recursive waiting as (
        -- A loose index scan: one step a key, however many jobs wait.
        select v_place.queue_id as queue_id, v_place.singleton_key as singleton_key, 0 as step
        union all
        select n.queue_id, n.singleton_key, w.step + 1
        from waiting as w
        cross join lateral (
            select s.queue_id, s.singleton_key from only pgbaton.span as s
            where s.state = 'waiting' and (s.queue_id, s.singleton_key) > (w.queue_id, w.singleton_key)
            order by s.queue_id, s.singleton_key, s.key_position
            limit 1
        ) as n
        where w.step < max_keys
    ), released as (
        select array_agg(w.queue_id) as queue_ids, array_agg(w.singleton_key) as keys
        from waiting as w
        where w.step > 0 and not exists (
            select from only pgbaton.span as s
            where s.queue_id = w.queue_id and s.singleton_key = w.singleton_key
                and s.slot is not null and s.held_key is not null
            offset 0
        ) and not pgbaton._is_full(w.queue_id, w.singleton_key) and not exists (
            select from pgbaton.baton_release as r
            where r.queue_id = w.queue_id and r.singleton_key = w.singleton_key
            offset 0
        )
    )
    select l.queue_id, l.singleton_key, l.step, r.queue_ids, r.keys
    into v_place.queue_id, v_place.singleton_key, v_seen, v_queue_ids, v_keys
    from waiting as l
    cross join released as r
    order by l.step desc
    limit 1;
    -- The next call goes on where this one stopped, or begins again at the end.
    if v_seen < max_keys then
        v_place.queue_id := 0;
        v_place.singleton_key := '';
    end if;
    insert into pgbaton.heal_place as p (queue_id, singleton_key)
    select v_place.queue_id, v_place.singleton_key
    where v_seen > 0 or exists (select from pgbaton.heal_place as h where h.queue_id > 0)
    on conflict on constraint heal_place_pkey do update
    set queue_id = excluded.queue_id, singleton_key = excluded.singleton_key;
    return array(
        select format('%s %s', u.queue_id, u.singleton_key)
        from unnest(v_queue_ids, v_keys) as u (queue_id, singleton_key)
    );
end;
$$;
comment on function pgbaton._keys_to_heal(integer) is
'Finds keys that have waiting jobs, no holder and no baton_release row, which should not be: the id of the queue, a
space, the key. Looks at max_keys keys a call, in turn.';
