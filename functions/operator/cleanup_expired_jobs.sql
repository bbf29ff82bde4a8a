create or replace function pgbaton.cleanup_expired_jobs(ttl interval)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('operate');
    v_before timestamptz;
    v_ids bigint[];
begin
    if ttl is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'ttl is null',
            hint = 'Pass how long completed jobs are kept, for example ''7 days''.';
    end if;
    perform pgbaton._check_duration('ttl', ttl, false);
    v_before := pgbaton._after(pgbaton._now(), -ttl);
    v_ids := array(
        select g.id
        from pgbaton.job_history as h
        cross join lateral generate_series(h.lo, h.hi) as g (id)
        where h.state = 'completed' and h.finished_at < v_before and h.day <= pgbaton._day(v_before)
            and (v_allowed is null or h.queue_id = any (v_allowed))
    );
    v_ids := array(select unnest(v_ids) except select unnest(pgbaton._awaited(v_ids)));
    perform pgbaton._erase(v_ids);
    return cardinality(v_ids);
end;
$$;
comment on function pgbaton.cleanup_expired_jobs(interval) is
'Removes completed jobs that ended longer ago than ttl, except those that other jobs wait for, and returns how many.
Retention does so by itself, day by day and without reading rows; this is for removing jobs earlier, and reads the
history of all days before. Raises 22004 or 22023.';
