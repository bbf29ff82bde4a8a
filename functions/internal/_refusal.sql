create or replace function pgbaton._refusal(job_id bigint, lease_token bigint)
returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_span pgbaton.span;
begin
    v_span := pgbaton._live_span(job_id);
    if v_span.lo is not null then
        return case
            when lease_token is not null and v_span.lease_token is distinct from lease_token then 'lease_lost'
            when lease_token is null and v_span.held_key is not null and v_span.policy is null
                and v_span.state <> 'failed' then 'lease_lost'
            else 'invalid_state'
        end;
    end if;
    if job_id > 0 and exists (
        select from pgbaton.job_history as h
        inner join pgbaton.queue as q on q.id = h.queue_id  -- not of one that was dropped
        where h.lo > _refusal.job_id - 64 and h.lo <= _refusal.job_id and h.hi >= _refusal.job_id
    ) then
        return 'invalid_state';
    end if;
    return 'not_found';
end;
$$;
comment on function pgbaton._refusal(bigint, bigint) is
'Why a worker''s call did not move a job: lease_lost, invalid_state or not_found.';
