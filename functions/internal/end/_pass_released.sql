create or replace function pgbaton._pass_released(released_from bigint, only_id bigint default null)
returns void
language plpgsql volatile
as $$
declare
    v_sees_all constant boolean := pgbaton._sees_all();
    v_ids bigint[];
    v_queue_ids integer[];
    v_keys text[];
    v_open_queue_ids integer[];  -- of which failed jobs hold keys no more
    v_child_queue_ids integer[];
    v_parent_ids bigint[];
begin
    select
        array_agg(t.id), array_agg(t.queue_id) filter (where t.parent_id is null and t.singleton_key is not null),
        array_agg(t.singleton_key) filter (where t.parent_id is null and t.singleton_key is not null),
        array_agg(distinct t.queue_id) filter (where t.singleton_key is null),
        array_agg(t.queue_id) filter (where t.parent_id is not null),
        array_agg(t.parent_id) filter (where t.parent_id is not null)
    into v_ids, v_queue_ids, v_keys, v_open_queue_ids, v_child_queue_ids, v_parent_ids
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
        where b.parent_id is not null or b.singleton_key is null
            or pg_try_advisory_xact_lock(pgbaton._lock_class() + 2, pgbaton._stripe(b.queue_id, b.singleton_key))
        offset 0
    ) as t;
    if v_ids is null then
        return;
    end if;
    delete from pgbaton.baton_release as r where r.id = any (v_ids);
    insert into pgbaton.baton_release (queue_id, singleton_key)
    select h.queue_id, h.singleton_key from pgbaton._pass_keys(v_queue_ids, v_keys) as h;
    if v_open_queue_ids is not null then
        insert into pgbaton.baton_release (queue_id) select g.id from pgbaton._go_on(v_open_queue_ids) as g (id);
    end if;
    if v_parent_ids is not null then
        insert into pgbaton.baton_release (queue_id, singleton_key, parent_id)
        select p.queue_id, p.singleton_key, p.parent_id
        from pgbaton._look_at_parents(v_child_queue_ids, v_parent_ids, v_sees_all) as p;
    end if;
end;
$$;
comment on function pgbaton._pass_released(bigint, bigint) is
'Passes on the batons of baton_release rows whose producers have ended, makes holders claimable that were set aside
while their keys were paused, and lets go who waited for the jobs among them. Those before released_from are left to
the sweep. Bounded: at most 1000 rows a call. only_id: one row alone.';
