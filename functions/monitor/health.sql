create or replace function pgbaton.health()
returns setof pgbaton.health_check
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_allowed constant integer[] := pgbaton._allowed_queues('monitor');
begin
    if v_allowed = '{}' then
        perform pgbaton._require_some_queue('monitor');
    end if;
    return query
    select c.check_name, case when c.is_bad then 'bad' when c.is_warn then 'warn' else 'ok' end, c.detail
    from (
        select * from pgbaton._health_of_server(v_now)
        union all
        select * from pgbaton._health_of_queues(v_now, v_allowed)
        union all
        select * from pgbaton._health_of_lines(v_now, v_allowed)
    ) as c;
end;
$$;
comment on function pgbaton.health() is
'Checks of the server and of the queues: ok, warn or bad, each with a sentence that says what was seen and, when
something is wrong, what to do. A narrowed role gets the checks of its queues. Raises PB009.';
