create or replace function pgbaton._search_bounds(filter jsonb)
returns pgbaton.search_bounds
language plpgsql stable
set timezone = 'UTC'
as $$
declare
    v_bounds pgbaton.search_bounds;
begin
    v_bounds.first_day := coalesce(pgbaton._day((filter ->> 'created_after')::timestamptz), '-infinity');
    v_bounds.last_day := least(
        pgbaton._day((filter ->> 'created_before')::timestamptz),
        pgbaton._day((filter ->> 'ended_before')::timestamptz), 'infinity'
    );
    -- From the ends of the indexes of days; of an extension all days share one.
    if v_bounds.first_day > '-infinity' and not pgbaton._is_extension() then
        v_bounds.first_id := coalesce(
            (select min(j.id) from pgbaton.job as j where j.day >= v_bounds.first_day), 9223372036854775807
        );
    end if;
    if v_bounds.last_day < 'infinity' and not pgbaton._is_extension() then
        v_bounds.last_id := coalesce(
            (select max(j.id) from pgbaton.job as j where j.day <= v_bounds.last_day), 0
        );
    end if;
    return v_bounds;
end;
$$;
comment on function pgbaton._search_bounds(jsonb) is
'The days on which what a filter asks for can have been enqueued, and the least and greatest id of these days.';
