create or replace function pgbaton.list_audit(
    queue text default null, job_id bigint default null, max_rows integer default 50, before_id bigint default null
)
returns setof pgbaton.audit_entry
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
    v_before constant bigint := coalesce(before_id, 9223372036854775807);
begin
    perform pgbaton._check_rows('max_rows', max_rows, 1000);
    if job_id is not null then
        return query
        select a.* from pgbaton.audit as a
        where a.job_id = list_audit.job_id and a.id < v_before
            and (v_queue_ids is null or exists (
                select from pgbaton.queue as q where q.name = a.queue and q.id = any (v_queue_ids) offset 0
            ))
        order by a.job_id desc, a.id desc
        limit max_rows;
    elsif v_queue_ids is null then
        return query
        select a.* from pgbaton.audit as a where a.id < v_before order by a.id desc limit max_rows;
    else
        -- Of each queue its latest ones, as the index has them.
        return query
        select f.*
        from pgbaton.queue as q
        cross join lateral (
            select a.* from pgbaton.audit as a
            where a.queue = q.name and a.id < v_before
            order by a.queue desc, a.id desc
            limit max_rows
        ) as f
        where q.id = any (v_queue_ids)
        order by f.id desc
        limit max_rows;
    end if;
end;
$$;
comment on function pgbaton.list_audit(text, bigint, integer, bigint) is
'What was done, by whom and why, the latest first, at most max_rows of 1,000: to a queue (null: to all on which the
caller may operate), or to a job (null: to all). before_id: go on below this id, that of the last row. Entries that
concern no queue are shown to callers whom no grant narrows. Raises PB001, PB009 or 22023.';
