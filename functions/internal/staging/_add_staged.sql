create or replace function pgbaton._add_staged(
    queue pgbaton.queue,
    payloads jsonb[],
    singleton_keys text[],
    lane_id integer,
    lane_ids integer[],
    run_ats timestamptz[],
    dedup_ids text[],
    row_nos bigint[] default null,
    waits jsonb[] default null
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
        queue, payloads, singleton_keys, lane_ids, pgbaton._run_ats_of(run_ats, waits), dedup_ids, v_is_new, lane_id
    );
    v_job_ids := pgbaton._ids_by_row(v_job_ids, v_is_new);
    perform pgbaton._add_waits(queue.id, v_job_ids, waits, row_nos);
    return v_job_ids;
end;
$$;
comment on function pgbaton._add_staged(
    pgbaton.queue, jsonb[], text[], integer, integer[], timestamptz[], text[], bigint[], jsonb[]
) is
'Adds the rows of one statement to a queue and returns the id of each, null where its dedup id was known. row_nos:
what messages call the rows; default their places, from 1. waits: what they wait for. Raises what _check_batch,
_register_dedup_ids, _add_jobs and _add_waits raise.';
