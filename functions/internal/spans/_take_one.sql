create or replace function pgbaton._take_one(
    queue text, job_id bigint, states pgbaton.job_state[], call text
)
returns pgbaton.span
language plpgsql volatile
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_queue(queue);
    v_queue_id integer;
    v_spans pgbaton.span[];
begin
    perform pgbaton._require_action(v_queue, 'operate');
    -- A live job is found by its span; for another one each day is looked at.
    v_queue_id := coalesce((pgbaton._live_span(job_id)).queue_id, (
        select l.queue_id from pgbaton.job as j
        cross join lateral (select n.queue_id from pgbaton.lane as n where n.id = j.lane_id offset 0) as l
        where j.id = _take_one.job_id
        limit 1
    ));
    if job_id is not null and v_queue_id is distinct from v_queue.id then
        raise exception using
            errcode = 'PB002',
            message = format('job %s is not in queue "%s"', job_id, queue),
            hint = 'It is in another queue, was never committed, or its retention is over.';
    end if;
    if job_id is not null then
        v_spans := pgbaton._carve(array[job_id], states);
    end if;
    if v_spans is null or cardinality(v_spans) = 0 then
        perform pgbaton._refuse(job_id, call, action => 'operate');
    end if;
    return v_spans[1];
end;
$$;
comment on function pgbaton._take_one(text, bigint, pgbaton.job_state[], text) is
'Carves one job of a queue out for an operator''s call. Raises PB001, PB002, PB003 or PB009.';
