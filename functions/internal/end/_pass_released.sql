create or replace function pgbaton._pass_released(released_from bigint, only_id bigint default null)
returns void
language plpgsql volatile
as $$
declare
    v_sees_all constant boolean := pgbaton._sees_all();
    v_ids bigint[];
    v_queue_ids integer[];
    v_keys text[];
    v_child_queue_ids integer[];
    v_parent_ids bigint[];
begin
    select
        array_agg(t.id), array_agg(t.queue_id) filter (where t.parent_id is null),
        array_agg(t.singleton_key) filter (where t.parent_id is null),
        array_agg(t.queue_id) filter (where t.parent_id is not null),
        array_agg(t.parent_id) filter (where t.parent_id is not null)
    into v_ids, v_queue_ids, v_keys, v_child_queue_ids, v_parent_ids
    from (
        select b.* from (
            select r.* from pgbaton.baton_release as r
            -- Under an older snapshot the key may have got a holder that is not seen. Not when a job that was enqueued
            -- in order waited already, and row and job are still there: since then its producers saw the key busy,
            -- and whoever else gave the key to a job has changed one of the two, so that to lock it fails.
            where r.id >= released_from and (only_id is null or r.id = only_id)
                and (v_sees_all or (not pgbaton._may_be_own(r.xmin) and exists (
                select from only pgbaton.span as s
                where s.queue_id = r.queue_id and s.singleton_key = r.singleton_key and s.state = 'waiting'
                    and s.policy is null and s.claimed_at is null and not pgbaton._may_be_own(s.xmin)
                offset 0
            )))
            order by r.id
            limit 1000
            for update skip locked
        ) as b
        -- Not shared: who found the key idle, and holds the lock shared, must have committed before the row may go.
        where b.parent_id is not null
            or pg_try_advisory_xact_lock(pgbaton._lock_class() + 2, pgbaton._stripe(b.queue_id, b.singleton_key))
        offset 0
    ) as t;
    if v_ids is null then
        return;
    end if;
    -- Several rows of one key count once; what _hand_on returns is tried again at the next claim.
    delete from pgbaton.baton_release as r where r.id = any (v_ids);
    insert into pgbaton.baton_release (queue_id, singleton_key)
    select h.queue_id, h.singleton_key
    from (
        select array_agg(d.queue_id) as queue_ids, array_agg(d.singleton_key) as singleton_keys
        from (
            select distinct k.queue_id, k.singleton_key
            from unnest(v_queue_ids, v_keys) as k (queue_id, singleton_key)
        ) as d
    ) as k
    cross join lateral pgbaton._hand_on(k.queue_ids, k.singleton_keys) as h;
    if v_parent_ids is not null then
        insert into pgbaton.baton_release (queue_id, singleton_key, parent_id)
        select p.queue_id, p.singleton_key, p.parent_id
        from pgbaton._look_at_parents(v_child_queue_ids, v_parent_ids) as p;
    end if;
end;
$$;
comment on function pgbaton._pass_released(bigint, bigint) is
'Passes on the batons of baton_release rows whose producers have ended, and lets go who waited for the jobs among
them. Those before released_from are left to
the sweep. Bounded: at most 1000 rows a call. only_id: one row alone.';
