create or replace function pgbaton._pass_batons_of(spans pgbaton.span[])
returns void
language plpgsql volatile
as $$
declare
    v_queue_ids integer[];
    v_keys text[];
    v_places bigint[];
begin
    select array_agg(s.queue_id), array_agg(s.held_key), array_agg(
        -- A job that was retried after its key had gone on without it stands in front of the holder.
        -- So may one that ran beside the holder.
        case
            when q.on_exhausted = 'block' and (s.policy is null or not q.is_limited) then s.key_position
            else 0
        end
    )
    into v_queue_ids, v_keys, v_places
    from unnest(spans) as s
    inner join pgbaton.queue as q on q.id = s.queue_id
    where s.held_key is not null;
    if v_keys is not null then
        perform pgbaton._pass_batons(v_queue_ids, v_keys, v_places);
    end if;
end;
$$;
comment on function pgbaton._pass_batons_of(pgbaton.span[]) is
'Passes the batons that these spans held when they were carved out.';
