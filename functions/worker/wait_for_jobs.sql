create or replace function pgbaton.wait_for_jobs(
    worker_id text,
    queues text[] default null,
    job_types text[] default null,
    tags text[] default '{}',
    max_wait interval default '30 seconds',
    out channel text, out wait interval
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_tags constant text[] := pgbaton._normal_tags(tags);
    v_queue_ids constant integer[] := pgbaton._claimable_queues(queues);
    v_next_run_at timestamptz;
begin
    -- What is plainly right needs no call, as in claim_job_batch.
    if (octet_length(worker_id) between 1 and 255 and job_types is null
        and max_wait > '0' and max_wait <= '1 day') is not true
    then
        perform pgbaton._check_claim(worker_id, job_types, 1, max_wait);
    end if;
    -- Who sleeps and looks does the upkeep that a claim would do.
    if not exists (
        select from pgbaton.watermark as w
        where w.kind = 'sweep' and w.lane_id = 0 and w.value between
            pgbaton._micros(v_now - interval '10 seconds') and pgbaton._micros(v_now + interval '10 seconds')
    ) then
        perform pgbaton._sweep();
    end if;
    channel := 'pgbaton_' || left(md5(worker_id), 16);
    wait := coalesce(max_wait, '30 seconds');
    insert into pgbaton.sleeper as s (worker_id, channel, queue_ids, job_types, tags, asleep_at, asleep_until)
    values (
        worker_id, channel, case when queues is not null then v_queue_ids end, job_types, v_tags, v_now,
        pgbaton._after(v_now, wait)
    )
    on conflict on constraint sleeper_pkey do update
    set queue_ids = excluded.queue_ids, job_types = excluded.job_types, tags = excluded.tags,
        asleep_at = excluded.asleep_at, asleep_until = excluded.asleep_until;

    if (pgbaton._lane_heads(v_queue_ids, job_types, v_tags, 1)).lane_ids is not null then
        wait := '0';
        return;
    end if;
    select s.run_at into v_next_run_at
    from pgbaton.span as s
    where not s.ready and s.state in ('pending', 'retry', 'unknown_retry') and s.run_at >= v_now - interval '1 minute'
    order by s.run_at
    limit 1;
    if v_next_run_at < pgbaton._after(v_now, wait) then
        wait := greatest(v_next_run_at - v_now, '0');
        update pgbaton.sleeper as s set asleep_until = v_next_run_at where s.worker_id = wait_for_jobs.worker_id;
    end if;
end;
$$;
comment on function pgbaton.wait_for_jobs(text, text[], text[], text[], interval, out text, out interval) is
'Says that a worker goes to sleep until there is work for it. It listens on the channel first (it is the same
for the same worker_id), calls this in a transaction of its own, sleeps for wait or until it is notified, and
claims: wait is 0 when there is work now, and never longer than until the next job is due. Who makes a job
claimable, or due before the wait is over, notifies each matching sleeper; a job that was enqueued in a
transaction open at this moment may not, so wait is never longer than max_wait. Who slept that long may call it
again instead of a claim: it does the thorough upkeep of one when nobody has for ten seconds. Raises PB001,
22004 or 22023.';
