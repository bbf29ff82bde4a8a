create or replace function pgbaton.acknowledge_cancellation(
    job_id bigint, was_executing boolean, lease_token bigint default null
)
returns void
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
    if was_executing is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'was_executing is null',
            hint = 'Pass true when the worker was running the job, false when it did not know it.';
    end if;
    if job_id is not null then
        v_spans := pgbaton._carve(array[job_id], array['cancelling']::pgbaton.job_state[], true, lease_token);
    end if;
    if v_spans is null or cardinality(v_spans) = 0 then
        perform pgbaton._refuse(job_id, 'acknowledge_cancellation', true, lease_token);
    end if;
    perform pgbaton._finish(
        v_spans, case when was_executing then 'stopped'::pgbaton.job_state else 'unknown_stopped' end
    );
end;
$$;
comment on function pgbaton.acknowledge_cancellation(bigint, boolean, bigint) is
'The worker''s answer to a cancellation: the job ends as stopped if it was executing, otherwise as unknown_stopped, and
the next job of its key runs. lease_token: of the claim; required in a FIFO queue.
Raises PB002 (no such job), PB003 (not being cancelled), PB004 (lease lost) or 22004.';
