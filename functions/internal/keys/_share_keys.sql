create or replace function pgbaton._share_keys(spans pgbaton.span[], full_los bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_queue_ids integer[];
    v_keys text[];
begin
    select array_agg(s.queue_id), array_agg(s.singleton_key) into v_queue_ids, v_keys
    from unnest(spans) as s
    where s.slot < -100
        and case
            when s.lo in (select f.lo from unnest(full_los) as f (lo))
                then not pgbaton._stays_full(s.queue_id, s.singleton_key)
            else true
        end
        -- Upkeep within this claim may have passed it on: where a key was paused, the claim looked once more.
        and not exists (
            select from only pgbaton.span as o
            where o.queue_id = s.queue_id and o.singleton_key = s.singleton_key and o.slot is not null
                and o.held_key is not null
            offset 0
        );
    if v_keys is not null then
        perform pgbaton._pass_batons(v_queue_ids, v_keys, array_fill(0::bigint, array[cardinality(v_keys)]));
    end if;
end;
$$;
comment on function pgbaton._share_keys(pgbaton.span[], bigint[]) is
'For spans that were just leased and run without the batons of their keys (key_limit): passes the batons on at once
where more jobs of the key may run. full_los: those that were the last that may, as _places_aside saw it.';
