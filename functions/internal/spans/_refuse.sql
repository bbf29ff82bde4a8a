create or replace function pgbaton._refuse(
    job_id bigint, call text, is_fenced boolean default false, lease_token bigint default null,
    action text default 'work'
)
returns void
language plpgsql volatile
as $$
declare
    v_refusal constant text := pgbaton._refusal(job_id, lease_token, action);
begin
    if job_id is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'job_id is null',
            hint = 'Pass the id that enqueue_job() or the claim returned.';
    elsif v_refusal = 'not_found' then
        raise exception using
            errcode = 'PB002',
            message = format('job %s does not exist', job_id),
            hint = 'It was never committed, its retention is over, or its queue is not yours.';
    elsif v_refusal = 'lease_lost' and is_fenced then
        raise exception using
            errcode = 'PB004',
            message = case
                when lease_token is null then format('job %s holds a key and the call carries no lease_token', job_id)
                else format('lease %s does not hold job %s any more', lease_token, job_id)
            end,
            hint = case
                when lease_token is null then 'Pass the lease_token of the claim: FIFO queues require it.'
                when (pgbaton._live_span(job_id)).lease_token is not distinct from lease_token
                    then 'The lease ended. Until somebody else claims the job, it may be completed, failed or stopped.'
                else 'The lease ended and the job was given to somebody else. Drop the result.'
            end;
    end if;
    raise exception using
        errcode = 'PB003',
        message = format('job %s is %s, which %s does not accept', job_id, pgbaton._state_of(job_id), call),
        hint = format('pgbaton.why_not_running(%s) says what it is doing.', job_id);
end;
$$;
comment on function pgbaton._refuse(bigint, text, boolean, bigint, text) is
'Raises why a call on one job cannot be done: PB002, PB003 or, for a fenced call, PB004.';
