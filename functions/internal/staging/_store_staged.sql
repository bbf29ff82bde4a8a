create or replace function pgbaton._store_staged(
    queue pgbaton.queue, at timestamptz, payloads jsonb[], singleton_keys text[], run_ats timestamptz[],
    priority integer, job_type text, tags text
)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_day constant date := pgbaton._day(at);
    v_lane_id integer;
    v_ids bigint[];
begin
    if not pgbaton._takes_stored(queue, singleton_keys, run_ats) then
        return null;
    end if;
    v_lane_id := pgbaton._lane_id(queue, priority, job_type, tags::text[]);
    v_ids := array(select nextval('pgbaton.job_id_seq') from (select generate_series(1, cardinality(payloads))) as n);
    insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, payload)
    select unnest(v_ids), at, v_day, v_lane_id, unnest(singleton_keys), unnest(payloads);
    return v_ids;
end;
$$;
comment on function pgbaton._store_staged(
    pgbaton.queue, timestamptz, jsonb[], text[], timestamptz[], integer, text, text
) is
'Puts staged rows of one lane into pgbaton.job, where they are no jobs before spark_commit gives them a place
in line, and returns their ids: then the commit, which one session does for all, need not write their payloads.
Null, and nothing done, when the queue is none that takes them so. Raises what _lane_id raises.';
