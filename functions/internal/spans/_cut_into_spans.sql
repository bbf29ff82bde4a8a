create or replace function pgbaton._cut_into_spans(
    job_ids bigint[],
    singleton_keys text[] default null,
    lane_ids integer[] default null,
    run_ats timestamptz[] default null,
    is_alone boolean default false,
    out los bigint[],
    out his bigint[],
    out span_keys text[],
    out span_lane_ids integer[],
    out span_run_ats timestamptz[]
)
language plpgsql immutable parallel safe
as $$
declare
    v_jobs constant integer := cardinality(job_ids);
    v_starts integer[];  -- the jobs with which a span begins
begin
    if num_nonnulls(singleton_keys, lane_ids, run_ats) = 0 and job_ids[v_jobs] - job_ids[1] = v_jobs - 1 then
        select array_agg(greatest(b.first, job_ids[1])), array_agg(least(b.first + 63, job_ids[v_jobs])) into los, his
        from generate_series((job_ids[1] - 1) / 64 * 64 + 1, job_ids[v_jobs], 64) as b (first);
        return;
    end if;
    if array_lower(singleton_keys, 1) <> 1 then
        singleton_keys := singleton_keys[:];
    end if;
    if array_lower(run_ats, 1) <> 1 then
        run_ats := run_ats[:];
    end if;
    v_starts := array(
        select u.n from (select generate_series(1, v_jobs) as n) as u
        where u.n = 1 or job_ids[u.n] <> job_ids[u.n - 1] + 1 or job_ids[u.n] & 63 = 1
            or singleton_keys[u.n] is distinct from singleton_keys[u.n - 1]
            or (is_alone and singleton_keys[u.n] is not null)
            or lane_ids[u.n] is distinct from lane_ids[u.n - 1] or run_ats[u.n] is distinct from run_ats[u.n - 1]
    );
    if cardinality(v_starts) = v_jobs then
        los := job_ids;
        his := job_ids;
        span_keys := singleton_keys;
        span_lane_ids := lane_ids;
        span_run_ats := run_ats;
        return;
    end if;
    select
        array_agg(job_ids[u.first]), array_agg(job_ids[u.next - 1]),
        case when singleton_keys is not null then array_agg(singleton_keys[u.first]) end,
        case when lane_ids is not null then array_agg(lane_ids[u.first]) end,
        case when run_ats is not null then array_agg(run_ats[u.first]) end
    into los, his, span_keys, span_lane_ids, span_run_ats
    from (select unnest(v_starts) as first, unnest(v_starts[2:] || (v_jobs + 1)) as next) as u;
end;
$$;
comment on function pgbaton._cut_into_spans(bigint[], text[], integer[], timestamptz[], boolean) is
'The spans of jobs that wait alike, as parallel arrays: neighbours of one key, lane and time with consecutive ids share
one, cut where an id is a multiple of 64. Those with a key have one
each when they are to be alone. The arrays have an entry for each job, or are null when all have the same.';
