create or replace function pgbaton._make_due(due_from timestamptz, at timestamptz, max_spans integer)
returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count bigint;
begin
    with due as materialized (
        select s.lo from pgbaton.span as s
        where not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
            and s.run_at >= due_from and s.run_at <= at
        order by s.run_at
        limit max_spans
        for update skip locked
    ), tickets as materialized (
        select d.lo, nextval('pgbaton.position_seq') as position from due as d
    ), made_due as (
        update pgbaton.span as s
        set ready = true, position = t.position
        from tickets as t
        where s.lo = t.lo
        returning s.hi - s.lo + 1 as jobs
    )
    select coalesce(sum(m.jobs), 0) into v_count from made_due as m;
    return v_count;
end;
$$;
comment on function pgbaton._make_due(timestamptz, timestamptz, integer) is
'Makes jobs claimable whose run_at has come, at the end of their line, and returns how many.';
