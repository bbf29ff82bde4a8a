create or replace function pgbaton._lock_unclaimed(job_ids bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_spans constant pgbaton.span[] := array(select pgbaton._live_span(i.id) from unnest(job_ids) as i (id));
begin
    perform from pgbaton.span as s
    -- By both ends: of ready_span the last one is indexed.
    where s.lo = any (array(select l.lo from unnest(v_spans) as l))
        and s.hi = any (array(select l.hi from unnest(v_spans) as l)) and s.state in ('pending', 'waiting')
    order by s.lo
    for update;
end;
$$;
comment on function pgbaton._lock_unclaimed(bigint[]) is
'Locks the spans of those of the jobs that nobody has claimed, sorted.';
