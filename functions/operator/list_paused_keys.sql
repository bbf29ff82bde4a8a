create or replace function pgbaton.list_paused_keys(
    queue text default null, max_rows integer default 100, after_key text default null
)
returns setof pgbaton.paused_key_info
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
begin
    perform pgbaton._check_rows('max_rows', max_rows, 1000);
    if after_key is not null and queue is null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'after_key without queue',
            hint = 'A key stands in one queue: name it to go on behind one of its keys.';
    end if;
    return query
    select q.name, f.singleton_key, f.paused_at
    from pgbaton.queue as q
    cross join lateral (
        select k.* from pgbaton.paused_key as k
        where k.queue_id = q.id and k.singleton_key >= coalesce(after_key, '')
            and k.singleton_key is distinct from after_key
        order by k.queue_id, k.singleton_key
        limit max_rows
    ) as f
    where v_queue_ids is null or q.id = any (v_queue_ids)
    order by q.name, f.singleton_key
    limit max_rows;
end;
$$;
comment on function pgbaton.list_paused_keys(text, integer, text) is
'Keys of a queue (null: of all) that pause_key paused, by queue and key, at most max_rows of 1,000; resume_key lets
them go on. after_key: only keys of the queue behind this one, to go on from the last one of a page. Raises PB001,
PB009 or 22023.';
