create or replace function pgbaton._act_on(action text, job_ids bigint[], reason text, extra_attempts integer)
returns bigint
language plpgsql volatile
as $$
declare
    v_job_ids bigint[];
    v_job_id bigint;
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
    foreach v_job_id in array v_job_ids loop
        v_done := v_done + pgbaton._act_on_one(action, v_job_id, reason, extra_attempts)::integer;
    end loop;
    return v_done;
end;
$$;
comment on function pgbaton._act_on(text, bigint[], text, integer) is
'Does with jobs what act_on_jobs was asked for, and returns with how many: what somebody else changed is passed over.';
