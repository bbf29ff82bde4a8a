create or replace function pgbaton._add_alike(
    queue pgbaton.queue, lane_id integer, run_at timestamptz, payloads jsonb[]
)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_day constant date := pgbaton._day(v_now);
    v_ids bigint[];
    v_spans record;  -- as parallel arrays
begin
    v_ids := array(select nextval('pgbaton.job_id_seq') from (select generate_series(1, cardinality(payloads))) as n);
    insert into pgbaton.job (id, created_at, day, lane_id, payload)
    select unnest(v_ids), v_now, v_day, _add_alike.lane_id, unnest(payloads);
    v_spans := pgbaton._cut_into_spans(v_ids);
    perform pgbaton._line_up_alike(queue, lane_id, run_at, v_spans.los, v_spans.his, v_day);
    return v_ids;
end;
$$;
comment on function pgbaton._add_alike(pgbaton.queue, integer, timestamptz, jsonb[]) is
'Adds jobs of one lane without keys or options and returns their ids in input order: _add_unkeyed for what most
batches are.';
