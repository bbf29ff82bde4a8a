create or replace function pgbaton._lock_at_once(job_ids bigint[])
returns boolean
language plpgsql volatile
as $$
declare
    v_los bigint[];
    v_his bigint[];
begin
    select array_agg(f.lo), array_agg(f.hi) into v_los, v_his
    from (
        select distinct s.lo, s.hi from unnest(job_ids) as i (id)
        cross join lateral (
            select n.lo, n.hi from pgbaton.span as n where pgbaton._covers(n.lo, n.hi, i.id) offset 0
        ) as s
    ) as f;
    return (
        select count(*) from (
            select from pgbaton.span as s where s.lo = any (v_los) and s.hi = any (v_his) order by s.lo
            for update skip locked
        ) as l
    ) = cardinality(v_los);
end;
$$;
comment on function pgbaton._lock_at_once(bigint[]) is
'Locks the spans of these jobs without waiting; false when somebody has one of them locked.';
