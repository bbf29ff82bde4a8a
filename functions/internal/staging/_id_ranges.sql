create or replace function pgbaton._id_ranges(job_ids bigint[], out los bigint[], out his bigint[])
language plpgsql immutable parallel safe
as $$
declare
    v_jobs constant integer := cardinality(job_ids);
    v_first integer := 1;
    v_last integer;
begin
    if job_ids[v_jobs] - job_ids[1] = v_jobs - 1 then
        los := job_ids[1:1];
        his := job_ids[v_jobs:v_jobs];
        return;
    end if;
    -- A session draws 64 at a time: only there does a gap begin.
    while v_first <= v_jobs loop
        v_last := least(v_first + 63 - (job_ids[v_first] - 1) % 64, v_jobs);
        exit when job_ids[v_last] - job_ids[v_first] <> v_last - v_first;
        los := los || job_ids[v_first];
        his := his || job_ids[v_last];
        v_first := v_last + 1;
    end loop;
    if v_first <= v_jobs then  -- not so after a crash, for example
        select array_agg(r.lo order by r.lo), array_agg(r.hi order by r.lo) into los, his
        from (
            select min(i.id) as lo, max(i.id) as hi from unnest(job_ids) with ordinality as i (id, ordinal)
            group by i.id - i.ordinal
        ) as r;
    end if;
end;
$$;
comment on function pgbaton._id_ranges(bigint[]) is
'Ids that rise, as the sequence of jobs gave them to one session, as ranges: of each the first and the last. Null for
none.';
