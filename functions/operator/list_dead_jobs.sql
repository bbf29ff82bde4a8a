create or replace function pgbaton.list_dead_jobs(
    queue text default null, max_rows integer default 50, row_offset integer default 0
)
returns setof pgbaton.dead_job
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
    v_spans pgbaton.span[];
begin
    if max_rows is null or max_rows < 0 or row_offset is null or row_offset < 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('max_rows is %s, row_offset is %s', max_rows, row_offset),
            hint = 'Pass numbers from 0 on.';
    end if;
    -- Of each queue its latest ones, as the index has them.
    v_spans := array(
        select f.span
        from pgbaton.queue as q
        cross join lateral (
            select s::pgbaton.span as span, s.changed_at, s.lo from only pgbaton.span as s
            where s.state = 'failed' and not s.ready and s.run_at is null and s.queue_id = q.id
            order by s.run_at desc, s.queue_id desc, s.changed_at desc, s.lo desc
            limit max_rows::bigint + row_offset
        ) as f
        where v_queue_ids is null or q.id = any (v_queue_ids)
        order by f.changed_at desc, f.lo desc
        limit max_rows offset row_offset
    );
    return query select d.* from pgbaton._dead_letters(v_spans) as d;
end;
$$;
comment on function pgbaton.list_dead_jobs(text, integer, integer) is
'The dead letters: failed jobs of a queue (null: of all), the latest first. In each queue it also reads those that
row_offset skips. Raises PB001 or 22023.';
