create or replace function pgbaton._lock_live(job_ids bigint[], states pgbaton.job_state[] default null)
returns void
language plpgsql volatile
as $$
declare
    v_spans constant pgbaton.span[] := array(select pgbaton._live_span(i.id) from unnest(job_ids) as i (id));
begin
    perform from pgbaton.span as s
    -- By both ends: of ready_span the last one is indexed.
    where s.lo = any (array(select l.lo from unnest(v_spans) as l))
        and s.hi = any (array(select l.hi from unnest(v_spans) as l))
        and (states is null or s.state = any (states))
    order by s.lo
    for update;
end;
$$;
comment on function pgbaton._lock_live(bigint[], pgbaton.job_state[]) is
'Locks the spans of those of the jobs that live, and are in one of the states (null: any), sorted.';
