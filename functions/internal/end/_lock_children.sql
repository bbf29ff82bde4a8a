create or replace function pgbaton._lock_children(child_ids bigint[])
returns bigint[]
language plpgsql volatile
as $$
declare
    v_ended bigint[];
    v_locked bigint[];
begin
    with found as materialized (
        select i.id, l.lo, l.hi from unnest(child_ids) as i (id) left join lateral pgbaton._live_span(i.id) as l on true
    ), locked as materialized (
        select s.lo, s.hi from pgbaton.span as s
        where s.lo = any (array(select f.lo from found as f)) and s.hi = any (array(select f.hi from found as f))
        order by s.lo
        for update skip locked
    )
    select
        array_agg(f.id) filter (where f.lo is null),
        array_agg(f.id) filter (where f.id between l.lo and l.hi)
    into v_ended, v_locked
    from found as f
    left join locked as l on l.lo = f.lo;
    if v_ended is not null then
        delete from pgbaton.job_wait as w where w.child_id = any (v_ended);
    end if;
    return coalesce(v_locked, '{}');
end;
$$;
comment on function pgbaton._lock_children(bigint[]) is
'Locks the spans of jobs that wait for jobs and returns those jobs, without those that somebody else has locked. Of
jobs that have ended it forgets what they waited for.';
