create or replace function pgbaton.why_not_running(job_id bigint)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_job constant pgbaton.job_info := pgbaton._job_info(job_id, 'operate');
    v_queue constant pgbaton.queue := pgbaton._require_queue((v_job).queue);
    v_waits constant text := case
        when v_job.state in ('pending', 'waiting') then pgbaton._why_waiting_for(job_id)
    end;
    v_rate constant text := case
        when v_queue.is_limited and v_job.holds_key and v_job.state in ('pending', 'retry', 'unknown_retry')
            then pgbaton._why_key_closed(v_job, v_queue)
    end;
begin
    return case
        when v_waits is not null then v_waits
        when v_job.state = 'active' then format(
            'Job %s is running: worker %s claimed it at %s, its lease ends at %s.',
            job_id, v_job.worker_id, v_job.claimed_at, v_job.lease_until
        )
        when v_job.state = 'cancelling' then format(
            'Job %s is being cancelled: worker %s has not acknowledged it, its lease ends at %s.',
            job_id, v_job.worker_id, v_job.lease_until
        )
        when v_job.state = 'failed' and v_job.finished_at is null then format(
            'Job %s failed after %s: %s. Call pgbaton.retry_job(%L, %s) to run it again '
            'or pgbaton.skip_job(%L, %s) to give it up%s.',
            job_id, case v_job.attempt when 1 then '1 attempt' else v_job.attempt || ' attempts' end,
            coalesce(v_job.error_message, 'no error message'), v_job.queue, job_id, v_job.queue, job_id,
            case when v_job.holds_key then format('; key "%s" waits for it', v_job.singleton_key) else '' end
        )
        when v_job.finished_at is not null then format(
            'Job %s has ended: %s%s at %s.',
            job_id, v_job.state, coalesce(' and ' || v_job.resolution, ''), v_job.finished_at
        )
        when v_job.state = 'waiting' then pgbaton._why_waiting(v_job, v_queue)
        when v_rate is not null then v_rate
        when v_job.run_at > pgbaton._now() then format(
            'Job %s runs not before %s%s.', job_id, v_job.run_at,
            case
                when v_job.state = 'retry' and v_job.error_message is not null
                    then format(' (attempt %s failed: %s)', v_job.attempt, v_job.error_message)
                else ''
            end
        )
        when v_queue.is_paused then format(
            'Job %s is claimable, but queue "%s" is paused. Call pgbaton.resume_queue(%L).',
            job_id, v_job.queue, v_job.queue
        )
        when pgbaton._is_key_paused(v_queue.id, job_id) then format(
            'Job %s holds its key, which is paused. Call pgbaton.resume_key(%L, %L).',
            job_id, v_job.queue, v_job.singleton_key
        )
        when v_queue.is_limited
            and (pgbaton._open_queues(array[v_queue.id], array[v_queue.id])).open_ids = '{}'
        then pgbaton._why_closed(job_id, v_queue)
        when not exists (
            select from pgbaton.worker as w
            where w.heartbeat_at > pgbaton._now() - interval '2 minutes'
                and (w.queue_ids = '{}' or v_queue.id = any (w.queue_ids))
        ) then format(
            'Job %s is claimable since %s, but no worker sent a heartbeat in the last two minutes. '
            'Start one for queue "%s".',
            job_id, greatest(v_job.run_at, v_job.created_at), v_job.queue
        )
        when not exists (
            select from pgbaton.worker as w
            where w.heartbeat_at > pgbaton._now() - interval '2 minutes' and w.tags <@ v_job.tags
                and (w.queue_ids = '{}' or v_queue.id = any (w.queue_ids))
        ) then format(
            'Job %s is claimable since %s, but no worker that lives asks for its tags %s only. '
            'Start one with tags among them.',
            job_id, greatest(v_job.run_at, v_job.created_at), v_job.tags
        )
        else format(
            'Job %s is claimable since %s: no worker has asked for queue "%s", job type "%s" and tags %s yet.',
            job_id, greatest(v_job.run_at, v_job.created_at), v_job.queue, v_job.job_type, v_job.tags
        )
    end;
end;
$$;
comment on function pgbaton.why_not_running(bigint) is
'Says in one sentence why a job is not running, and which call helps. Raises PB002 or 22004.';
