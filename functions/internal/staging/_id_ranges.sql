create or replace function pgbaton._id_ranges(job_ids bigint[], out los bigint[], out his bigint[])
language plpgsql immutable parallel safe
as $$
declare
    v_jobs constant integer := cardinality(job_ids);
    v_rest constant integer := 64 - (job_ids[1] - 1) % 64;  -- of the ids that the session had drawn
    v_is_regular boolean;
begin
    if job_ids[v_jobs] - job_ids[1] = v_jobs - 1 then
        los := job_ids[1:1];
        his := job_ids[v_jobs:v_jobs];
        return;
    end if;
    -- A session draws 64 at a time: only there does a gap begin.
    select
        array_agg(job_ids[r.first]), array_agg(job_ids[r.last]),
        bool_and(job_ids[r.last] - job_ids[r.first] = r.last - r.first)
    into los, his, v_is_regular
    from (
        select greatest(n.first, 1) as first, least(n.first + 63, v_jobs) as last
        from generate_series(v_rest - 63, v_jobs, 64) as n (first)
    ) as r;
    if v_is_regular then
        return;
    end if;
    select array_agg(r.lo order by r.lo), array_agg(r.hi order by r.lo) into los, his
    from (
        select min(i.id) as lo, max(i.id) as hi from unnest(job_ids) with ordinality as i (id, ordinal)
        group by i.id - i.ordinal
    ) as r;
end;
$$;
comment on function pgbaton._id_ranges(bigint[]) is
'Ids that rise, as the sequence of jobs gave them to one session, as ranges: of each the first and the last. Null for
none.';
