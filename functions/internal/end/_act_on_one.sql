create or replace function pgbaton._act_on_one(action text, job_id bigint, reason text, extra_attempts integer)
returns boolean
language plpgsql volatile
as $$
declare
    v_span constant pgbaton.span := pgbaton._live_span(job_id);
    v_queue constant text := (select q.name from pgbaton.queue as q where q.id = v_span.queue_id);
begin
    if v_span.lo is null then
        return false;
    elsif action = 'skip' then
        perform pgbaton.skip_job(v_queue, job_id, reason);
    elsif action = 'delete' then
        perform pgbaton.delete_job(v_queue, job_id);
    elsif v_span.policy is null then
        perform pgbaton._run_again(action, v_queue, job_id, extra_attempts);
    else
        begin
            perform pgbaton._run_again(action, v_queue, job_id, extra_attempts);
        exception when sqlstate 'PB006' then
            -- A policy that allows one such job of a key: the others are done all the same.
            return false;
        end;
    end if;
    return true;
end;
$$;
comment on function pgbaton._act_on_one(text, bigint, text, integer) is
'Does with a locked job what act_on_jobs was asked for, and says whether the policy of its queue let it.';
