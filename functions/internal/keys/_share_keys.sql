create or replace function pgbaton._share_keys(spans pgbaton.span[])
returns void
language plpgsql volatile
as $$
declare
    v_los constant bigint[] := array(
        select s.lo from unnest(spans) as s
        inner join pgbaton.queue_limit as l on l.queue_id = s.queue_id and l.kind = 'key'
        where s.held_key is not null
    );
    v_shared pgbaton.span[];
    v_queue_ids integer[];
    v_keys text[];
begin
    if cardinality(v_los) = 0 then
        return;
    end if;
    v_shared := pgbaton._step_aside(v_los);
    -- Of a full key each job that ends leaves a release row.
    select array_agg(s.queue_id), array_agg(s.singleton_key) into v_queue_ids, v_keys
    from unnest(v_shared) as s
    where not pgbaton._is_full(s.queue_id, s.singleton_key);
    if v_keys is not null then
        perform pgbaton._pass_batons(v_queue_ids, v_keys, array_fill(0::bigint, array[cardinality(v_keys)]));
    end if;
end;
$$;
comment on function pgbaton._share_keys(pgbaton.span[]) is
'For spans that were just leased, those of queues with a key_limit: they run without the batons, which are passed on at
once where more jobs of the key may run.';
