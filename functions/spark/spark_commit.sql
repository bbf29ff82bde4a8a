create or replace function pgbaton.spark_commit(
    run_id text, attempts uuid[], expected bigint, origin text default null
)
returns table (inserted bigint, deduped bigint, already bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_allowed constant integer[] := case
        when pgbaton._has_grants() then pgbaton._allowed_queues('enqueue')
    end;
    v_rows bigint;
    v_data text;
    v_name text;
    v_queue pgbaton.queue;
    v_names text[];
    v_are_new boolean[];  -- of each of them whether all its rows are
    v_chunk pgbaton.spark_chunk;
    v_count bigint;  -- of the jobs of a queue
    v_staged bigint;  -- and of the rows
begin
    perform pgbaton._check_run_id(run_id), pgbaton._check_flat('attempts', array_ndims(attempts));
    if num_nulls(attempts, expected) > 0 or array_position(attempts, null) is not null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'attempts, an entry of it, or expected is null',
            hint = 'Pass the attempts that count, one for each partition, and how many rows they staged.';
    elsif exists (
        select from pgbaton.spark_chunk as c where c.attempt = any (attempts) and c.queue_id <> all (v_allowed)
    ) then
        raise exception using
            errcode = 'PB009',
            message = format('role %s may not enqueue all that these attempts staged', pgbaton._actor()),
            hint = 'Pass attempts whose rows go into queues of yours.';
    end if;
    select
        coalesce(sum(c.jobs), 0),
        concat_ws(' ', string_agg(distinct c.queue, ' ' order by c.queue), coalesce(sum(c.jobs), 0), sum(c.digest))
    into v_rows, v_data
    from pgbaton.spark_chunk as c where c.attempt = any (attempts);

    perform pgbaton._begin_run(run_id, 0, coalesce(origin, case when v_rows = expected then v_data end));
    inserted := 0;
    already := 0;
    v_rows := 0;
    for v_name in
        select d.queue from (
            select distinct c.queue from pgbaton.spark_chunk as c where c.attempt = any (attempts)
        ) as d
        left join pgbaton.queue as q on q.name = d.queue
        order by q.id
    loop
        v_queue := pgbaton._enter_queue(v_name);
        -- Waits for another commit of the run.
        insert into pgbaton.enqueue_ledger (run_id, queue_id, part, xid, noted_at, jobs, duplicates, queue_ids)
        values (run_id, v_queue.id, 0, pg_current_xact_id(), pgbaton._now(), 0, 0, coalesce(v_allowed, '{}'))
        on conflict on constraint enqueue_ledger_pkey do nothing;
        if found then
            v_names := v_names || v_name;
            v_are_new := v_are_new || pgbaton._enter_chunks(v_queue, attempts);
        else
            for v_chunk in
                delete from pgbaton.spark_chunk as c where c.attempt = any (attempts) and c.queue = v_name returning c.*
            loop
                perform pgbaton._drop_stored(v_chunk.day, v_chunk.los, v_chunk.his);
                v_rows := v_rows + v_chunk.jobs;
            end loop;
            already := already + (
                select l.jobs from pgbaton.enqueue_ledger as l
                where l.run_id = spark_commit.run_id and l.queue_id = v_queue.id and l.part = 0
            );
        end if;
    end loop;
    if v_names is null and already = 0 then
        -- Nothing is staged any more when this very commit was done before.
        already := (
            select coalesce(sum(l.jobs), 0) from pgbaton.enqueue_ledger as l
            where l.run_id = spark_commit.run_id and l.part = 0 and l.queue_ids = coalesce(v_allowed, '{}')
        );
    end if;
    if v_names is null and already > 0 then
        deduped := 0;
        return next;
        return;
    end if;
    deduped := 0;
    -- Before they are read, since who drops one drops its rows in pgbaton.job; in the order of spark_abort. Not before
    -- all else is waited for: an abort goes first as long as nothing was done.
    perform from pgbaton.spark_chunk as c where c.attempt = any (attempts)
    order by c.attempt, c.chunk_no
    for update;
    for i in 1 .. coalesce(cardinality(v_names), 0) loop
        v_queue := pgbaton._require_queue(v_names[i]);
        v_count := 0;
        v_staged := 0;
        perform pgbaton._unstore(v_queue, attempts);
        for v_chunk in select * from pgbaton._chunks_in_order(v_queue, attempts) loop
            v_count := v_count + pgbaton._enqueue_chunk(v_queue, v_chunk, v_are_new[i], run_id);
            v_staged := v_staged + v_chunk.jobs;
        end loop;
        update pgbaton.enqueue_ledger as l
        set noted_at = pgbaton._now(), jobs = v_count, duplicates = v_staged - v_count
        where l.run_id = spark_commit.run_id and l.queue_id = v_queue.id and l.part = 0;
        inserted := inserted + v_count;
        deduped := deduped + v_staged - v_count;
        v_rows := v_rows + v_staged;
    end loop;
    -- Not before: while this waited for a lock, they may have been dropped.
    if v_rows <> expected then
        raise exception using
            errcode = 'PB003',
            message = format('run "%s" has %s staged rows instead of %s', run_id, v_rows, expected),
            hint = 'The server was restarted meanwhile, or the run was aborted: run it again.';
    end if;
    delete from pgbaton.spark_chunk as c where c.attempt = any (attempts);
    return next;
end;
$$;
comment on function pgbaton.spark_commit(text, uuid[], bigint, text) is
'Makes jobs of the rows that these attempts staged, all at once and once: if the run was enqueued into a queue before,
nothing more is added there. Returns how many jobs were added, how many rows had a dedup_id that was known, and how
many jobs the run became when it was enqueued before.
attempts: one for each partition, in any order. expected: how many rows they staged together. The same run_id with
other keys and payloads, or another queue, is an error. With origin, the name of what the rows come from, only another
origin is an error, and the rows may differ. Jobs of one key stand in the order of order_nos, then of part and
chunk_no.
Raises PB002 (a job that a row waits for is gone meanwhile), PB003 (staged rows are gone), PB013 (the run was begun
with other data or in partitions), 22004, 22023 and what enqueue_batch raises.';
