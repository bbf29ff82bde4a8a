create or replace function pgbaton.reset_fifo_key(queue text, singleton_key text, reason text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_baton(queue, singleton_key);
    v_span constant pgbaton.span := pgbaton._holder(v_queue.id, singleton_key);
begin
    if coalesce(reason, '') = '' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'reason is null or empty',
            hint = 'Say why: the audit keeps it.';
    end if;
    if v_span.lo is null then
        -- Nobody holds it: have the next claim look whether somebody should.
        perform pgbaton._release_keys(array[v_queue.id], array[singleton_key]);
    elsif v_span.state = 'failed' then
        perform pgbaton._finish(
            pgbaton._carve(array[v_span.lo], array['failed']::pgbaton.job_state[]), 'failed', 'skipped'
        );
    elsif v_span.state in ('active', 'cancelling') then
        perform pgbaton._recover(
            pgbaton._carve(array[v_span.lo], array['active', 'cancelling']::pgbaton.job_state[]), reason
        );
    elsif v_span.run_at = 'infinity' then
        raise exception using
            errcode = 'PB003',
            message = format('job %s, which holds key "%s", waits for other jobs', v_span.lo, singleton_key),
            hint = format('pgbaton.stop_waiting(%L, %s) lets it run all the same.', queue, v_span.lo);
    else
        perform pgbaton._requeue(
            pgbaton._carve(array[v_span.lo], array['pending', 'retry', 'unknown_retry']::pgbaton.job_state[]),
            v_span.state, pgbaton._now()
        );
    end if;
    perform pgbaton._audit('reset_fifo_key', queue, v_span.lo, singleton_key, reason);
end;
$$;
comment on function pgbaton.reset_fifo_key(text, text, text) is
'Gets a blocked key going by hand, with a reason for the audit. A failed holder is skipped; a running holder is taken
from its worker and runs again, or has failed if that was its last attempt; a holder that waits for its time runs now.
No job ever passes one of its key that is still to run.
Raises PB001, PB003 (the policy of the queue keeps no order, or the holder waits for other jobs: see stop_waiting),
22004 or 22023.';
