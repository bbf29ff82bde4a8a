create or replace function pgbaton._lock_idle(job_ids bigint[], action text)
returns bigint[]
language plpgsql volatile
as $$
begin
    perform pgbaton._lock_live(job_ids);
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
