create or replace function pgbaton._release_places(spans pgbaton.span[])
returns void
language plpgsql volatile
as $$
declare
    v_is_fresh constant boolean := pgbaton._is_read_committed();
    v_queue_ids integer[];
    v_keys text[];
    v_are_sure boolean[];
begin
    select
        array_agg(k.queue_id), array_agg(k.singleton_key),
        -- Shared and without waiting: got means that nobody has found a key of the stripe full and left it so.
        array_agg(v_is_fresh and pg_try_advisory_xact_lock_shared(
            pgbaton._lock_class() + 6, pgbaton._stripe(k.queue_id, k.singleton_key)
        ))
    into v_queue_ids, v_keys, v_are_sure
    from (select distinct s.queue_id, s.singleton_key from unnest(spans) as s where s.slot < -100) as k;
    if v_keys is null then
        return;
    end if;
    -- A new statement. Whoever takes the baton from its holder looks then whether more may run, or leaves a row itself.
    perform pgbaton._release_keys(array_agg(k.queue_id), array_agg(k.singleton_key))
    from unnest(v_queue_ids, v_keys, v_are_sure) as k (queue_id, singleton_key, is_sure)
    where not k.is_sure or not exists (
        select from only pgbaton.span as o
        where o.queue_id = k.queue_id and o.singleton_key = k.singleton_key and o.slot > -100 and o.held_key is not null
        offset 0
    );
end;
$$;
comment on function pgbaton._release_places(pgbaton.span[]) is
'For jobs that ran without the batons of their keys (key_limit) and do not any more, in a statement after the one that
ended them: the next claim passes on the batons that nobody has.';
