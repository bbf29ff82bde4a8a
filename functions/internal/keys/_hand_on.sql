create or replace function pgbaton._hand_on(queue_ids integer[], singleton_keys text[])
returns setof pgbaton.baton_release
language plpgsql volatile
as $$
declare
    v_promoted pgbaton.span[];
    v_left record;
begin
    if queue_ids is null then
        return;
    end if;
    v_promoted := pgbaton._promote(
        queue_ids, singleton_keys, array_fill(0::bigint, array[cardinality(queue_ids)]), true
    );
    -- Still without a holder, though a job waits: its first job was locked, or as many run as may.
    select array_agg(f.queue_id) as queue_ids, array_agg(f.singleton_key) as singleton_keys into v_left
    from unnest(queue_ids, singleton_keys) as f (queue_id, singleton_key)
    where (f.queue_id, f.singleton_key) not in (
        select p.queue_id, p.held_key from unnest(v_promoted) as p
    ) and not exists (
        select from only pgbaton.span as s
        where s.queue_id = f.queue_id and s.singleton_key = f.singleton_key
            and s.slot is not null and s.held_key is not null
        offset 0
    ) and exists (
        select from only pgbaton.span as s
        where s.queue_id = f.queue_id and s.singleton_key = f.singleton_key and s.state = 'waiting'
        offset 0
    );
    return query
    select 0::bigint, f.queue_id, f.singleton_key, null::bigint
    from unnest(v_left.queue_ids, v_left.singleton_keys) as f (queue_id, singleton_key)
    where not pgbaton._stays_full(f.queue_id, f.singleton_key);
end;
$$;
comment on function pgbaton._hand_on(integer[], text[]) is
'Gives keys that nobody holds to their first waiting job, and returns those whose first job was locked. The
caller holds the lock on the baton of each (see _lock_class).';
