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
    v_queues constant record := pgbaton._claimable_queues(queues);
    v_from constant bigint := pgbaton._sleepers_from();
    v_is_tending boolean := not pgbaton._is_tended(v_now);
    v_is_known boolean;
    v_open_ids integer[] := v_queues.ids;  -- whose limits let jobs start
    v_next_moment timestamptz;
    v_sleeper pgbaton.sleeper;
begin
    -- What is plainly right needs no call, as in claim_job_batch.
    if (octet_length(worker_id) between 1 and 255 and job_types is null
        and max_wait > '0' and max_wait <= '1 day') is not true
    then
        perform pgbaton._check_claim(worker_id, job_types, 1, max_wait);
    end if;
    v_sleeper := pgbaton._sleeper_of(v_from, worker_id, pgbaton._heard_queues(queues), job_types, v_tags);
    -- Committed, and not so long ago that somebody may have raised the floor above it: _tidy_sleepers leaves 64 below
    -- the last number.
    v_is_known := v_sleeper.id is not null and v_sleeper.registered_by is distinct from pg_current_xact_id_if_assigned()
        and (
        v_sleeper.seen_from is not null
        or v_sleeper.id > pg_sequence_last_value('pgbaton.sleeper_id_seq') - 64
    );
    channel := v_sleeper.channel;
    loop
        -- The upkeep that a claim would do.
        if v_is_tending then
            perform pgbaton._tend(v_now);
        elsif pgbaton._unsettled_from() is not null then
            perform pgbaton._pass_on();
        end if;
        -- Before it looks for jobs, so that it sees those of whoever has just ended.
        if v_is_known and not v_sleeper.is_settled then
            v_sleeper.seen_from := coalesce(v_sleeper.seen_from, pg_current_xact_id());
            v_sleeper.is_settled := pgbaton._is_seen_by_all(v_sleeper.seen_from);
        end if;
        if v_queues.limited_ids is not null then
            v_open_ids := (pgbaton._open_queues(v_queues.ids, v_queues.limited_ids)).open_ids;
        end if;
        if pgbaton._has_work(v_open_ids, v_queues.plain_ids, job_types, v_tags) then
            wait := '0';
            exit;
        end if;
        -- A lease that somebody takes meanwhile does not end before that, or wakes who sleeps.
        wait := least(
            coalesce(max_wait, '30 seconds'),
            (select min(q.lease) from pgbaton.queue as q where q.id = any (v_queues.ids))
        );
        v_next_moment := pgbaton._next_moment(v_queues.ids, pgbaton._after(v_now, wait));
        if cardinality(v_open_ids) < cardinality(v_queues.ids) then
            -- The first rate that lets a job start for which it asks.
            v_next_moment := least(v_next_moment, (
                select min(pgbaton._next_start(u.id, v_now)) from unnest(v_queues.limited_ids) as u (id)
                where u.id <> all (v_open_ids)
                    and pgbaton._has_work(array[u.id], v_queues.plain_ids, job_types, v_tags)
            ));
        end if;
        exit when v_is_tending or v_next_moment > v_now or v_next_moment is null;
        v_is_tending := true;
    end loop;

    if wait > '0' and v_next_moment > v_now then
        wait := least(wait, v_next_moment - v_now);
    end if;
    if not v_sleeper.is_settled or v_next_moment <= v_now
        or exists (select from pgbaton.baton_release as r where r.queue_id = any (v_queues.ids))
    then
        wait := least(wait, '0.2 seconds');
    end if;
    v_sleeper.asleep_until := pgbaton._after(v_now, greatest(wait, '0.2 seconds'));
    if not v_is_known then
        v_sleeper.registered_by := pg_current_xact_id();
    end if;
    perform pgbaton._lie_down(v_sleeper);
end;
$$;
comment on function pgbaton.wait_for_jobs(text, text[], text[], text[], interval, out text, out interval) is
'Says that a worker goes to sleep until there is work for it. The worker calls this in its own transaction, sleeps for
wait or until it is notified on channel, and then calls this again or claims; when wait is 0, at once. The channel
stays the same for a role and worker_id: listen first, then call again.

A call that makes a job of the worker''s filter claimable, or due before the wait is over, notifies the worker in that
commit, once: until the worker calls again it gets no further notification.

wait ends at the next due time, at the end of a lease, or when a rate allows the next start in its queues; it is never
longer than max_wait (default: 30 s). It is 0.2 s at most on the first call after a claim or a notification, and as
long as an open transaction may make a job claimable without having seen that the worker sleeps.

It does the upkeep that a claim does.
Raises PB001, PB009, 2202E, 22004 or 22023.';
