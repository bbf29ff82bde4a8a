create or replace function pgbaton.drop_queue(queue text, force boolean default false)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._seize_queue(queue);
    v_waits record;  -- who waits for jobs of the queue
begin
    if force is not true then
        perform pgbaton._require_no_live_jobs(v_queue, 'Drain it, or pass force => true to drop its jobs as well.');
    end if;
    delete from pgbaton.job_wait as w where w.queue_id = v_queue.id;
    select array_agg(w.queue_id) as queue_ids, array_agg(w.parent_id) as parent_ids into v_waits
    from (
        select distinct on (n.parent_id) n.parent_id, n.queue_id from pgbaton.job_wait as n
        where n.parent_id is not null
    ) as w
    where (pgbaton._live_span(w.parent_id)).queue_id = v_queue.id;
    perform pgbaton._leave_parents(v_waits.queue_ids, v_waits.parent_ids);
    -- What of its days is left in job and job_history belongs to nobody then, and goes with its day.
    perform pgbaton._lock_spans_of(v_queue.id);
    -- Whatever refers to it is there now: who adds a grant locks its row. After the spans, as who fails a job does.
    perform from pgbaton.queue as q where q.id = v_queue.id for update;
    perform pgbaton._require_other_grants(v_queue);
    delete from pgbaton.span as s where s.queue_id = v_queue.id;
    delete from pgbaton.baton_release as r where r.queue_id = v_queue.id and r.parent_id is null;
    delete from pgbaton.paused_key as k where k.queue_id = v_queue.id;
    delete from pgbaton.dedup as d where d.queue_id = v_queue.id;
    delete from pgbaton.subscription as s where s.queue_id = v_queue.id;
    delete from pgbaton.schedule as s where s.queue_id = v_queue.id;
    delete from pgbaton.queue_grant as g where g.queue_id = v_queue.id;
    delete from pgbaton.job_count as c where c.queue_id = v_queue.id;
    delete from pgbaton.key_block as b where b.queue_id = v_queue.id;
    delete from pgbaton.permit as p where p.queue_id = v_queue.id;
    delete from pgbaton.key_start as k where k.queue_id = v_queue.id;
    delete from pgbaton.queue_limit as l where l.queue_id = v_queue.id;
    delete from pgbaton.lease_loss as l where l.queue_id = v_queue.id;
    delete from pgbaton.watermark as w using pgbaton.lane as l
    where w.kind = 'lane' and w.lane_id = l.id and l.queue_id = v_queue.id;
    delete from pgbaton.rewind as r using pgbaton.lane as l where r.lane_id = l.id and l.queue_id = v_queue.id;
    delete from pgbaton.lane as l where l.queue_id = v_queue.id;
    delete from pgbaton.queue as q where q.id = v_queue.id;
    perform pgbaton._audit('drop_queue', queue, null, null, case when force then 'forced' end);
end;
$$;
comment on function pgbaton.drop_queue(text, boolean) is
'Removes a queue with its history, subscriptions, schedules and grants, and with force also with its live jobs. If a
worker still sends something for one of those jobs, the job is not found; a job of another queue that waits for one of
them goes on as its on_failed says. Waits for open producers, and reads all live jobs. Raises PB001, PB008 (live jobs,
without force), PB009 (a role is narrowed to this queue alone) or 22004.';
