create or replace function pgbaton.mark_worker_unresponsive(worker_id text)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_spans pgbaton.span[];
begin
    perform pgbaton._check_worker_id(worker_id);
    v_spans := pgbaton._leased_spans(worker_id, pgbaton._allowed_queues('work'), null);
    perform pgbaton._audit('mark_worker_unresponsive', null, null, null, worker_id);
    return pgbaton._recover(v_spans, format('worker %s became unresponsive', worker_id));
end;
$$;
comment on function pgbaton.mark_worker_unresponsive(text) is
'Takes all jobs from a worker and returns how many. Running jobs run again, or are failed when no attempt is left; jobs
that are being cancelled end as unknown_stopped. Calls of the worker with its old lease are refused.
Raises 22004 or 22023.';
