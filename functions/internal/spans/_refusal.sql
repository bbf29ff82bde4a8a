create or replace function pgbaton._refusal(job_id bigint, lease_token bigint, action text default 'work')
returns text
language plpgsql volatile
as $$
declare
    v_span pgbaton.span;
    v_allowed constant integer[] := pgbaton._allowed_queues(action);
begin
    v_span := pgbaton._live_span(job_id);
    if v_span.queue_id <> all (v_allowed) then
        return 'not_found';
    elsif v_span.lo is not null then
        return case
            when lease_token is not null and v_span.lease_token is distinct from lease_token then 'lease_lost'
            -- The token of a lease that ended is good for an end of the job, and for nothing else.
            when lease_token is not null and v_span.state = 'unknown_retry' then 'lease_lost'
            when lease_token is null and v_span.held_key is not null and v_span.policy is null
                and v_span.state <> 'failed' then 'lease_lost'
            else 'invalid_state'
        end;
    end if;
    if job_id > 0 and exists (
        select from pgbaton.job_history as h
        inner join pgbaton.queue as q on q.id = h.queue_id  -- not of one that was dropped
        where pgbaton._covers(h.lo, h.hi, _refusal.job_id)
            and (v_allowed is null or h.queue_id = any (v_allowed))
    ) then
        return 'invalid_state';
    end if;
    return 'not_found';
end;
$$;
comment on function pgbaton._refusal(bigint, bigint, text) is
'Why a call did not move a job: lease_lost, invalid_state or not_found. A job of a queue on which the caller may
not do that is not found.';
