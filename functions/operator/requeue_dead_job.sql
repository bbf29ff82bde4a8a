create or replace function pgbaton.requeue_dead_job(job_id bigint)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_info constant pgbaton.job_info := pgbaton._job_info(job_id, 'operate');
    v_queue constant pgbaton.queue := pgbaton._enter_queue(v_info.queue, 'operate');
    v_new_id constant bigint := nextval('pgbaton.job_id_seq');
    v_old pgbaton.job;
    v_span pgbaton.span;
begin
    v_span := pgbaton._take_one(v_queue.name, job_id, array['failed']::pgbaton.job_state[], 'requeue_dead_job');
    select j.* into strict v_old from pgbaton.job as j where j.id = requeue_dead_job.job_id and j.day = v_span.day;
    perform pgbaton._finish(array[v_span], 'failed', 'requeued');
    if pgbaton._queued_job(v_queue, v_old.singleton_key) is not null then
        perform pgbaton._refuse_queued(
            v_queue, v_old.singleton_key, pgbaton._queued_job(v_queue, v_old.singleton_key)
        );
    end if;
    perform pgbaton._add_job(
        v_new_id, v_queue, v_old.lane_id, null, v_old.payload, v_old.singleton_key, v_old.options
    );
    perform pgbaton._audit(
        'requeue_dead_job', v_queue.name, job_id, v_old.singleton_key, format('as job %s', v_new_id)
    );
    return v_new_id;
end;
$$;
comment on function pgbaton.requeue_dead_job(bigint) is
'Enqueues a failed job anew, at the end of its line and of its key, and returns the new id. The failed one goes to
history as requeued, and its key goes on. retry_job keeps id and place instead.
Raises PB002 (no such job), PB003 (not failed), PB006 (the policy allows no further job of the key) or 22004.';
