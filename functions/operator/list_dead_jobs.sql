create or replace function pgbaton.list_dead_jobs(
    queue text default null, max_rows integer default 50, row_offset integer default 0
)
returns setof pgbaton.dead_job
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
begin
    if max_rows is null or max_rows < 0 or row_offset is null or row_offset < 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('max_rows is %s, row_offset is %s', max_rows, row_offset),
            hint = 'Pass numbers from 0 on.';
    end if;
    return query
    select d.* from pgbaton._dead_jobs(v_queue_ids, '{}') as d
    order by d.failed_at desc, d.id desc
    limit max_rows offset row_offset;
end;
$$;
comment on function pgbaton.list_dead_jobs(text, integer, integer) is
'The dead letters: failed jobs of a queue (null: of all), the latest first. Raises PB001 or 22023.';
