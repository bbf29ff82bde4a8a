create or replace function pgbaton._verdicts(
    job_ids bigint[], spans pgbaton.span[], lease_token bigint, ok_when_cancelling text default 'ok'
)
returns setof pgbaton.verdict
language plpgsql volatile
as $$
begin
    if (select sum(s.hi - s.lo + 1) from unnest(spans) as s where s.state <> 'cancelling') = cardinality(job_ids) then
        return query
        select i.ordinal::integer, i.id, 'ok'
        from unnest(job_ids) with ordinality as i (id, ordinal);
        return;
    end if;
    return query
    select
        i.ordinal::integer, i.id,
        case
            when i.nth = 1 and t.state = 'cancelling' then ok_when_cancelling
            when i.nth = 1 and t.state is not null then 'ok'
            else pgbaton._refusal(i.id, lease_token)
        end
    from (
        select u.id, u.ordinal, row_number() over (partition by u.id order by u.ordinal) as nth
        from unnest(job_ids) with ordinality as u (id, ordinal)
    ) as i
    left join (
        -- Job by job, so that the join is by equality however many spans there are.
        select g.id, s.state from unnest(spans) as s cross join lateral generate_series(s.lo, s.hi) as g (id)
    ) as t on t.id = i.id
    order by i.ordinal;
end;
$$;
comment on function pgbaton._verdicts(bigint[], pgbaton.span[], bigint, text) is
'One verdict for each id in input order: ok for the first mention of a job in the spans that were carved out,
else why it was refused.';
