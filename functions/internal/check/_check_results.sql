create or replace function pgbaton._check_results(results jsonb[])
returns void
language plpgsql stable parallel safe
as $$
declare
    v_bad record;
begin
    select u.result, u.ordinal into v_bad
    from (select unnest(results) as result, generate_series(1, cardinality(results)) as ordinal) as u
    where u.result is not null and not pgbaton._fits(u.result)
    limit 1;
    if found then
        perform pgbaton._check_payload(
            v_bad.result, 'result', case when cardinality(results) > 1 then v_bad.ordinal end
        );
    end if;
end;
$$;
comment on function pgbaton._check_results(jsonb[]) is
'Raises PB011 for a result that is larger, deeper or has longer numbers than a payload may.';
