create or replace function pgbaton._begin_run(run_id text, parts integer, fingerprint text)
returns void
language plpgsql volatile
as $$
declare
    v_queue_ids constant integer[] := coalesce(pgbaton._allowed_queues('enqueue'), '{}');
    v_run pgbaton.enqueue_run;
begin
    insert into pgbaton.enqueue_run (run_id, queue_ids, begun_at, parts, fingerprint)
    values (run_id, v_queue_ids, pgbaton._now(), parts, fingerprint)
    on conflict on constraint enqueue_run_pkey do nothing;
    if found then
        return;
    end if;
    select r.* into strict v_run
    from pgbaton.enqueue_run as r where r.run_id = _begin_run.run_id and r.queue_ids = v_queue_ids;
    if pgbaton._is_same_run(v_run, parts, fingerprint) then
        return;
    end if;

    -- Another one. That is all right as long as nothing of it was enqueued: open transactions that enqueue
    -- parts of it share this lock.
    select r.* into strict v_run
    from pgbaton.enqueue_run as r where r.run_id = _begin_run.run_id and r.queue_ids = v_queue_ids
    for update;
    if pgbaton._is_same_run(v_run, parts, fingerprint) then
        return;
    elsif exists (
        select from pgbaton.enqueue_ledger as l
        where l.run_id = _begin_run.run_id and l.queue_ids = v_queue_ids
    ) then
        perform pgbaton._refuse_run(v_run, parts);
    end if;
    update pgbaton.enqueue_run as r
    set parts = _begin_run.parts, fingerprint = _begin_run.fingerprint
    where r.run_id = _begin_run.run_id and r.queue_ids = v_queue_ids;
end;
$$;
comment on function pgbaton._begin_run(text, integer, text) is
'Notes what a run of the caller looks like, anew as long as nothing of it was enqueued; waits for open transactions that
do. Raises PB013 when something of it was enqueued and it looked otherwise.';
