create or replace function pgbaton._settle_idle_keys(queue_ids integer[], singleton_keys text[])
returns void
language plpgsql volatile
as $$
declare
    v_open_queue_ids integer[];
    v_open_keys text[];
    v_kept_queue_ids integer[] := queue_ids;
    v_kept_keys text[] := singleton_keys;
begin
    if pgbaton._is_read_committed() then
        -- Shared and without waiting: got means that no producer is open who may have seen the key held.
        select
            array_agg(t.queue_id) filter (where t.is_ours), array_agg(t.singleton_key) filter (where t.is_ours),
            array_agg(t.queue_id) filter (where not t.is_ours), array_agg(t.singleton_key) filter (where not t.is_ours)
        into v_open_queue_ids, v_open_keys, v_kept_queue_ids, v_kept_keys
        from (
            select f.*, pg_try_advisory_xact_lock_shared(
                pgbaton._lock_class() + 2, pgbaton._stripe(f.queue_id, f.singleton_key)
            ) as is_ours
            from unnest(queue_ids, singleton_keys) as f (queue_id, singleton_key)
            offset 0
        ) as t;
    end if;

    perform pgbaton._release_keys(array_agg(k.queue_id), array_agg(k.singleton_key))
    from (
        select k.queue_id, k.singleton_key from unnest(v_kept_queue_ids, v_kept_keys) as k (queue_id, singleton_key)
        union all
        select u.queue_id, u.singleton_key from pgbaton._hand_on(v_open_queue_ids, v_open_keys) as u
    ) as k;
end;
$$;
comment on function pgbaton._settle_idle_keys(integer[], text[]) is
'Decides keys of which no waiting job was seen: with the lock on the baton it looks again, without it leaves a
baton_release row.';
