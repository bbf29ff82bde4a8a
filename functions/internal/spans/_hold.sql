create or replace function pgbaton._hold(job_id bigint, lease_token bigint)
returns pgbaton.span
language plpgsql volatile
as $$
declare
    v_span pgbaton.span;
    v_seen pgbaton.span;
    v_allowed constant integer[] := case
        when pgbaton._has_grants() then pgbaton._allowed_queues('work')
    end;
begin
    -- A span that splits while we wait for its lock leaves the job in another row: look again while there is one.
    loop
        select s.* into v_span
        from pgbaton.span as s
        where pgbaton._covers(s.lo, s.hi, _hold.job_id)
            -- By its id alone: an equality would let the planner read all spans of the claim.
            and s.lease_token is not distinct from _hold.lease_token and s.state <> 'unknown_retry'
            and (v_allowed is null or s.queue_id = any (v_allowed))
        order by s.lo
        for share;
        exit when found or v_allowed is not null;
        v_seen := pgbaton._live_span(job_id);
        exit when v_seen.lease_token is distinct from _hold.lease_token or v_seen.state = 'unknown_retry';
    end loop;
    return v_span;
end;
$$;
comment on function pgbaton._hold(bigint, bigint) is
'The span of a job under this lease, kept as it is until the transaction ends; nulls when the lease does not
hold the job.';
