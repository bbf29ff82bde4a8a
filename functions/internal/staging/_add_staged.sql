create or replace function pgbaton._add_staged(
    queue pgbaton.queue,
    payloads jsonb[],
    singleton_keys text[],
    lane_id integer,
    lane_ids integer[],
    run_ats timestamptz[],
    dedup_ids text[],
    row_nos bigint[] default null
)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_is_new boolean[];
    v_job_ids bigint[];
begin
    if dedup_ids is not null then
        -- One transaction of many statements after the other: two with the same ids would wait in a circle.
        perform pg_advisory_xact_lock(pgbaton._lock_class() + 3, queue.id);
        v_is_new := pgbaton._register_dedup_ids(queue, dedup_ids, null, row_nos);
    end if;
    perform pgbaton._check_batch(queue, payloads, singleton_keys, row_nos);
    v_job_ids := pgbaton._add_once(
        queue, payloads, singleton_keys, lane_ids, run_ats, dedup_ids, v_is_new, lane_id
    );
    if v_is_new is null or array_position(v_is_new, false) is null then
        return v_job_ids;
    end if;
    return array(
        select case when n.is_new then v_job_ids[count(*) filter (where n.is_new) over (order by n.ordinal)] end
        from unnest(v_is_new) with ordinality as n (is_new, ordinal)
        order by n.ordinal
    );
end;
$$;
comment on function pgbaton._add_staged(
    pgbaton.queue, jsonb[], text[], integer, integer[], timestamptz[], text[], bigint[]
) is
'Adds the rows of one statement to a queue and returns the id of each, null where its dedup id was known. row_nos:
what messages call the rows; default their places, from 1. Raises what _check_batch, _register_dedup_ids and _add_jobs
raise.';
