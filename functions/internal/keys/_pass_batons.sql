create or replace function pgbaton._pass_batons(queue_ids integer[], singleton_keys text[], places bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_promoted pgbaton.span[];
    v_idle_queue_ids integer[];
    v_idle_keys text[];
begin
    -- Producers of a key are serialised, so what is not yet visible stands further back than what is.
    v_promoted := pgbaton._promote(queue_ids, singleton_keys, places, false);
    if cardinality(v_promoted) = cardinality(singleton_keys) then
        return;
    end if;

    select array_agg(f.queue_id), array_agg(f.singleton_key)
    into v_idle_queue_ids, v_idle_keys
    from unnest(queue_ids, singleton_keys) as f (queue_id, singleton_key)
    where (f.queue_id, f.singleton_key) not in (
        select p.queue_id, p.held_key from unnest(v_promoted) as p
    );
    perform pgbaton._settle_idle_keys(v_idle_queue_ids, v_idle_keys);
end;
$$;
comment on function pgbaton._pass_batons(integer[], text[], bigint[]) is
'Gives the baton of each key to its next waiting job, looked for from the place of the job that let it go.
Never waits for a producer or for another worker: what cannot be decided now becomes a baton_release row.';
