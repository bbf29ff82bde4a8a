create or replace function pgbaton._enter_part(queue_id integer, run_id text, part integer, parts integer)
returns boolean
language plpgsql volatile
as $$
declare
    v_queue_ids integer[];
    v_run pgbaton.enqueue_run;
begin
    if exists (
        select from pgbaton.enqueue_ledger as l
        where l.run_id = _enter_part.run_id and l.queue_id = _enter_part.queue_id and l.part = _enter_part.part
            and l.xid = pg_current_xact_id()
    ) then
        return true;
    end if;
    perform pgbaton._check_run_id(run_id);
    if part is null or parts is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'part or parts is null',
            hint = 'With run_id, say which partition of how many the row is in: part 0 to parts - 1.';
    elsif part not between 0 and parts - 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('part is %s and parts is %s', part, parts),
            hint = 'The parts of a run are numbered from 0 to parts - 1.';
    end if;

    v_queue_ids := coalesce(pgbaton._allowed_queues('enqueue'), '{}');
    select r.* into v_run
    from pgbaton.enqueue_run as r where r.run_id = _enter_part.run_id and r.queue_ids = v_queue_ids
    for share;
    if not found then
        -- Waits for whoever is doing the same: what they say holds.
        insert into pgbaton.enqueue_run (run_id, queue_ids, begun_at, parts)
        values (run_id, v_queue_ids, pgbaton._now(), parts)
        on conflict on constraint enqueue_run_pkey do nothing;
        select r.* into strict v_run
        from pgbaton.enqueue_run as r where r.run_id = _enter_part.run_id and r.queue_ids = v_queue_ids
        for share;
    end if;
    if v_run.parts <> parts then
        perform pgbaton._refuse_run(v_run, parts);
    end if;
    -- Waits for another attempt at this part, also one that nobody knows of any more.
    insert into pgbaton.enqueue_ledger (run_id, queue_id, part, xid, noted_at, queue_ids)
    values (run_id, queue_id, part, pg_current_xact_id(), pgbaton._now(), v_queue_ids)
    on conflict on constraint enqueue_ledger_pkey do nothing;
    return found;
end;
$$;
comment on function pgbaton._enter_part(integer, text, integer, integer) is
'Whether this transaction is the one that enqueues the part of the run into the queue; false when that is done. Waits
for an open transaction that does it. Raises PB013 when the run has other parts, 22004 or 22023.';
