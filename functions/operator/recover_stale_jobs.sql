create or replace function pgbaton.recover_stale_jobs(timeout interval default null, queue text default null)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'work');
begin
    perform pgbaton._check_duration('timeout', timeout);
    if timeout is not null then
        return pgbaton._recover(
            pgbaton._leased_spans(null, v_queue_ids, pgbaton._after(v_now, -timeout)),
            format('not finished %s after its claim', timeout)
        );
    end if;
    return pgbaton._recover(pgbaton._ended_leases('-infinity', v_now, null, v_queue_ids), 'the lease ended');
end;
$$;
comment on function pgbaton.recover_stale_jobs(interval, text) is
'Takes back jobs whose lease has ended or, with a timeout, all jobs that were claimed longer ago than that, and returns
how many. They run again, or are failed when no attempt is left. queue: null is all. Claims and run_maintenance() take
back ended leases by themselves.
Raises PB001 or 22023.';
