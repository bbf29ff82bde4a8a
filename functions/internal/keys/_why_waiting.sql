create or replace function pgbaton._why_waiting(job pgbaton.job_info, queue pgbaton.queue)
returns text
language plpgsql stable
as $$
declare
    v_holder constant pgbaton.span := pgbaton._holder(queue.id, job.singleton_key);
    v_since constant timestamptz := coalesce(v_holder.changed_at, v_holder.claimed_at);
begin
    if v_holder.lo is null and pgbaton._is_full(queue.id, coalesce(job.singleton_key, '')) then
        return format(
            'Job %s waits: as many jobs of its key "%s" run as the limit of queue "%s" allows. It starts when one of '
            'them ends. pgbaton.set_queue_limits(%L, …) changes that.',
            job.id, job.singleton_key, queue.name, queue.name
        );
    elsif v_holder.lo is null then
        return format(
            'Job %s waits for the baton of key "%s", which nobody holds: '
            'the next claim passes it on once open producers have ended.',
            job.id, job.singleton_key
        );
    end if;
    return format('Job %s waits behind job %s of its key "%s", which is %s%s.%s',
        job.id, v_holder.lo, job.singleton_key, v_holder.state,
        case
            when v_holder.run_at = 'infinity'
                then format(' and waits for other jobs, which pgbaton.why_not_running(%s) names', v_holder.lo)
            when v_holder.run_at > pgbaton._now() then format(' and runs not before %s', v_holder.run_at)
            when v_since is not null then format(' since %s', v_since)
            else ''
        end,
        case when v_holder.state = 'failed' then format(
            ' Call pgbaton.retry_job(%L, %s) or pgbaton.skip_job(%L, %s).',
            queue.name, v_holder.lo, queue.name, v_holder.lo
        ) else '' end
    );
end;
$$;
comment on function pgbaton._why_waiting(pgbaton.job_info, pgbaton.queue) is
'Says which job a waiting job stands behind, and which call helps when that one failed.';
