create or replace function pgbaton._with_error(ranges pgbaton.job_range[], error text, oldest_first boolean)
returns pgbaton.job_range[]
language plpgsql stable
as $$
begin
    return array(
        select
            row(
                n.id, n.id, r.day, r.queue_id, r.lane_id, r.state, r.is_live, r.worker_id, r.ended_at
            )::pgbaton.job_range
        from unnest(ranges) with ordinality as r
        -- Each by its key, whatever the statistics say.
        cross join lateral (
            select o.job_id as id from pgbaton.job_report as o
            where o.day = r.day and o.job_id between r.lo and r.hi and position(error in o.last_error) > 0
            offset 0
        ) as n
        order by r.ordinality, case when oldest_first then n.id else - n.id end
    );
end;
$$;
comment on function pgbaton._with_error(pgbaton.job_range[], text, boolean) is
'The jobs of these ranges whose last error contains a text, each as a range of its own. Reads what they reported and not
the jobs: few jobs that end well report.';
