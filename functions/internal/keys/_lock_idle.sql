create or replace function pgbaton._lock_idle(job_ids bigint[], action text)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_spans constant pgbaton.span[] := array(select pgbaton._live_span(i.id) from unnest(job_ids) as i (id));
begin
    perform from pgbaton.span as s
    where s.lo = any (array(select v.lo from unnest(v_spans) as v))
        and s.hi = any (array(select v.hi from unnest(v_spans) as v))
    order by s.lo
    for update;
    return array(
        select i.id
        from unnest(job_ids) with ordinality as i (id, ordinal)
        cross join lateral (select pgbaton._live_span(i.id) as span offset 0) as l
        where case action
            when 'skip' then (l.span).state = 'failed'
            when 'delete' then (l.span).state in ('failed', 'waiting', 'pending', 'retry', 'unknown_retry')
            else coalesce((l.span).state = 'failed', true)
        end
        order by i.ordinal
    );
end;
$$;
comment on function pgbaton._lock_idle(bigint[], text) is
'Locks the spans of jobs, sorted, and returns those that may still be skipped, deleted or erased.';
