create or replace function pgbaton.purge_dead_jobs(queue text default null, force boolean default false)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
    v_spans pgbaton.span[];
    v_count bigint;
begin
    v_spans := pgbaton._carve(
        array(
            select g.id
            from only pgbaton.span as s
            cross join lateral generate_series(s.lo, s.hi) as g (id)
            where s.state = 'failed' and not s.ready and s.run_at is null
                and (v_queue_ids is null or s.queue_id = any (v_queue_ids))
                and (s.held_key is null or force)
        ),
        array['failed']::pgbaton.job_state[]
    );
    perform pgbaton._finish(v_spans, 'failed', 'purged');
    v_count := (select coalesce(sum(s.hi - s.lo + 1), 0) from unnest(v_spans) as s);
    if v_count > 0 then
        perform pgbaton._audit('purge_dead_jobs', queue, null, null, format('%s jobs', v_count));
    end if;
    return v_count;
end;
$$;
comment on function pgbaton.purge_dead_jobs(text, boolean) is
'Gives up all dead letters of a queue (null: of all queues) and returns how many; they go to history as purged. Those
that hold a key stay, unless force is set: then their keys go on. Raises PB001.';
