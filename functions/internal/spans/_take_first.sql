create or replace function pgbaton._take_first(
    job_id bigint, states pgbaton.job_state[], is_fenced boolean, lease_token bigint, allowed_queue_ids integer[]
)
returns pgbaton.span
language plpgsql volatile
as $$
declare
    v_span pgbaton.span;
begin
    select s.* into v_span
    from pgbaton.span as s
    where pgbaton._covers(s.lo, s.hi, job_id)
        and s.state = any (states)
        and (allowed_queue_ids is null or s.queue_id = any (allowed_queue_ids))
        and (not is_fenced or s.lease_token = _take_first.lease_token
            or (_take_first.lease_token is null and (s.held_key is null or s.policy is not null)))
    order by s.lo desc
    limit 1
    for update skip locked;
    if not found or v_span.lo <> job_id then
        return null;
    elsif v_span.hi > v_span.lo then
        return pgbaton._cut(v_span, 1);
    end if;
    delete from pgbaton.span as s where s.lo = v_span.lo and s.hi = v_span.hi;
    return v_span;
end;
$$;
comment on function pgbaton._take_first(bigint, pgbaton.job_state[], boolean, bigint, integer[]) is
'The short way of _carve for one job that is the first of its span, as it is when a worker acknowledges one job
after the other. Nulls when it is not, does not qualify or is locked: then _carve looks thoroughly.';
