create or replace function pgbaton._add_once(
    queue pgbaton.queue,
    payloads jsonb[],
    singleton_keys text[],
    lane_ids integer[],
    run_ats timestamptz[],
    dedup_ids text[],
    is_new boolean[],
    lane_id integer default null
)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_new record;  -- what is new, as parallel arrays
    v_job_ids bigint[];
begin
    if dedup_ids is null then
        return array(
            select i.id
            from pgbaton._add_jobs(queue, payloads, singleton_keys, lane_ids, run_ats, null, lane_id) as i (id)
        );
    end if;

    if array_position(is_new, false) is null then
        select _add_once.payloads, _add_once.singleton_keys, _add_once.lane_ids, _add_once.run_ats, _add_once.dedup_ids
        into v_new;
    else
        select
            array_agg(u.payload) as payloads,
            case when singleton_keys is not null then array_agg(u.singleton_key) end as singleton_keys,
            case when lane_ids is not null then array_agg(u.lane_id) end as lane_ids,
            case when run_ats is not null then array_agg(u.run_at) end as run_ats,
            array_agg(u.dedup_id) as dedup_ids
        into v_new
        from unnest(payloads, singleton_keys, lane_ids, run_ats, dedup_ids, is_new)
            as u (payload, singleton_key, lane_id, run_at, dedup_id, is_new)
        where u.is_new;
    end if;

    v_job_ids := array(
        select i.id
        from pgbaton._add_jobs(
            queue, v_new.payloads, v_new.singleton_keys, v_new.lane_ids, v_new.run_ats, null, lane_id
        ) as i (id)
    );
    perform pgbaton._note_job_ids(queue.id, v_new.dedup_ids, v_job_ids);
    return v_job_ids;
end;
$$;
comment on function pgbaton._add_once(
    pgbaton.queue, jsonb[], text[], integer[], timestamptz[], text[], boolean[], integer
) is
'Adds jobs given as parallel arrays, which were checked, without those of which is_new says that their dedup id is
known (null: all are new), fills in the dedup ids and returns the ids of those it added, in input order. lane_id holds
for rows whose own is null. Raises what _add_jobs raises.';
