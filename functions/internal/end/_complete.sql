create or replace function pgbaton._complete(
    job_ids bigint[], lease_token bigint, results jsonb[], wakes boolean default true
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    if results is not null then
        perform pgbaton._check_results(results);
    end if;
    v_spans := pgbaton._carve(
        job_ids, array['active', 'cancelling', 'unknown_retry']::pgbaton.job_state[], true, lease_token,
        is_one_by_one => cardinality(job_ids) = 1
    );
    perform pgbaton._finish(v_spans, 'completed', wakes => wakes);
    if (select coalesce(sum(s.hi - s.lo + 1), 0) from unnest(v_spans) as s) < cardinality(job_ids) then
        v_spans := v_spans || pgbaton._complete_late(job_ids, lease_token);
    end if;
    if results is not null then
        insert into pgbaton.job_report as r (job_id, day, result)
        select distinct on (i.id) i.id, s.day, i.result
        from unnest(job_ids, results) with ordinality as i (id, result, ordinal)
        inner join (
            select g.id, u.day from unnest(v_spans) as u cross join lateral generate_series(u.lo, u.hi) as g (id)
        ) as s on s.id = i.id
        where i.result is not null
        order by i.id, i.ordinal
        on conflict on constraint job_report_pkey do update set result = excluded.result;
    end if;
    return v_spans;
end;
$$;
comment on function pgbaton._complete(bigint[], bigint, jsonb[], boolean) is
'Ends jobs as completed, with results in the order of job_ids, and returns the spans it ended. wakes: as
_free_places has it. Raises PB011.';
