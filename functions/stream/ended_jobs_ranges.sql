create or replace function pgbaton.ended_jobs_ranges(
    after jsonb,
    until jsonb,
    queue text default null,
    jobs_per_range bigint default 50000,
    max_ranges integer default 16
)
returns setof pgbaton.id_range
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
begin
    perform pgbaton._check_offset('after', after);
    perform pgbaton._check_offset('until', until);
    perform pgbaton._check_reached(after, until);
    if jobs_per_range < 1 or max_ranges < 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'jobs_per_range and max_ranges are at least 1',
            hint = 'Leave them out.';
    end if;
    return query
    with ended as (
        select
            e.lo, e.hi, e.hi - e.lo + 1 as jobs,
            sum(e.hi - e.lo + 1) over (order by e.lo) as running,
            sum(e.hi - e.lo + 1) over () as total
        from pgbaton._ended_between(after, until) as e
        where v_queue_ids is null or e.queue_id = any (v_queue_ids)
    ), placed as (
        select
            e.lo, e.hi, e.jobs,
            div(e.running - 1, greatest(jobs_per_range, ceil(e.total / max_ranges))) as place
        from ended as e
    )
    select min(p.lo), max(p.hi), sum(p.jobs)::bigint from placed as p group by p.place order by 1;
end;
$$;
comment on function pgbaton.ended_jobs_ranges(jsonb, jsonb, text, bigint, integer) is
'Cuts what ended_jobs will return between two offsets into ranges of ids that can be read side by side: at most
max_ranges, of about jobs_per_range jobs or more; no row when there is nothing. Reads what ended or failed since an
hour before after, and what vacuum has not summarized yet. Raises what ended_jobs raises.';
