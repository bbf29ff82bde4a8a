create or replace function pgbaton._share_keys(spans pgbaton.span[])
returns void
language plpgsql volatile
as $$
declare
    v_queue_ids integer[];
    v_keys text[];
begin
    -- Of a full key each job that ends leaves a release row. As _is_full has it, without a call for each.
    select array_agg(s.queue_id), array_agg(s.singleton_key) into v_queue_ids, v_keys
    from unnest(spans) as s
    inner join pgbaton.queue_limit as l on l.queue_id = s.queue_id and l.kind = 'key'
    where s.slot < -100 and l.size > (
        select count(*) from only pgbaton.span as o
        where o.queue_id = s.queue_id and o.singleton_key = s.singleton_key and o.slot < -100
    );
    if v_keys is not null then
        perform pgbaton._pass_batons(v_queue_ids, v_keys, array_fill(0::bigint, array[cardinality(v_keys)]));
    end if;
end;
$$;
comment on function pgbaton._share_keys(pgbaton.span[]) is
'For spans that were just leased and run without the batons of their keys (key_limit): passes the batons on at once
where more jobs of the key may run.';
