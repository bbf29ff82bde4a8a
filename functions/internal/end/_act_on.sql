create or replace function pgbaton._act_on(action text, job_ids bigint[], reason text, extra_attempts integer)
returns bigint
language plpgsql volatile
as $$
declare
    v_job_ids bigint[];
    v_job_id bigint;
    v_queue record;
    v_retried bigint[] := '{}';
    v_done bigint := 0;
begin
    if action = 'cancel' then
        return cardinality(c.cancelled_job_ids) from pgbaton.cancel_jobs(job_ids => job_ids) as c;
    end if;
    if action in ('retry', 'requeue') then
        v_job_ids := pgbaton._lock_failed(job_ids, action = 'requeue');
    else
        v_job_ids := pgbaton._lock_idle(job_ids, action);
    end if;
    if action = 'erase' then
        return pgbaton.delete_jobs(
            job_ids => array(select unnest(v_job_ids) except select unnest(pgbaton._awaited(v_job_ids)))
        );
    end if;
    if action = 'retry' then
        for v_queue in
            select q.name, array_agg(s.lo) as job_ids
            from only pgbaton.span as s
            cross join lateral (select n.name from pgbaton.queue as n where n.id = s.queue_id offset 0) as q
            where s.lo = any (v_job_ids)
            group by q.name
        loop
            v_retried := v_retried || pgbaton._retry_at_once(
                v_queue.name, v_queue.job_ids, coalesce(extra_attempts, 1)
            );
        end loop;
        v_done := cardinality(v_retried);
        v_job_ids := array(select unnest(v_job_ids) except select unnest(v_retried) order by 1);
    end if;
    foreach v_job_id in array v_job_ids loop
        v_done := v_done + pgbaton._act_on_one(action, v_job_id, reason, extra_attempts)::integer;
    end loop;
    return v_done;
end;
$$;
comment on function pgbaton._act_on(text, bigint[], text, integer) is
'Does with jobs what act_on_jobs was asked for, and returns with how many: what somebody else changed is passed over.';
