create or replace function pgbaton.spark_stage(
    run_id text,
    attempt uuid,
    part integer,
    chunk_no integer,
    queue text,
    payloads jsonb[],
    singleton_keys text[] default null,
    priorities integer[] default null,
    job_types text[] default null,
    tags text[] default null,
    run_ats timestamptz[] default null,
    dedup_ids text[] default null,
    order_nos bigint[] default null,
    afters text[] default null,
    on_faileds text[] default null
)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_queue(queue);
    v_with_null text;  -- name of an array
    v_now constant timestamptz := pgbaton._now();
    v_day constant date := pgbaton._day(v_now);
    v_digest numeric;
    v_waits jsonb[];
    v_job_ids bigint[];
    v_spans record;  -- as parallel arrays
    v_ranges record;
begin
    perform pgbaton._require_action(v_queue, 'enqueue');
    perform pgbaton._check_run_id(run_id);
    if num_nulls(attempt, part, chunk_no) > 0 then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'attempt, part or chunk_no is null',
            hint = 'They say which rows these are: an id for each attempt, and numbers.';
    end if;
    perform pgbaton._check_batch(v_queue, payloads, singleton_keys);
    perform
        pgbaton._check_flat(o.name, o.dimensions),
        pgbaton._check_same_length('payloads', cardinality(payloads), o.name, o.length)
    from (
        values ('priorities', cardinality(priorities), array_ndims(priorities)),
        ('job_types', cardinality(job_types), array_ndims(job_types)), ('tags', cardinality(tags), array_ndims(tags)),
        ('run_ats', cardinality(run_ats), array_ndims(run_ats)),
        ('dedup_ids', cardinality(dedup_ids), array_ndims(dedup_ids)),
        ('order_nos', cardinality(order_nos), array_ndims(order_nos)),
        ('afters', cardinality(afters), array_ndims(afters)),
        ('on_faileds', cardinality(on_faileds), array_ndims(on_faileds))
    ) as o (name, length, dimensions);
    v_with_null := case
        when array_position(priorities, null) is not null then 'priorities'
        when array_position(job_types, null) is not null then 'job_types'
        when array_position(tags, null) is not null then 'tags'
    end;
    if v_with_null is not null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = format('%s has a null entry', v_with_null),
            hint = 'Pass the default instead, 100, '''' or {}; null for the whole array if all rows have it.';
    end if;
    perform pgbaton._check_labels(d.job_type, pgbaton._normal_tags(coalesce(d.tags, '{}')::text[]))
    from (select distinct unnest(job_types) as job_type, unnest(tags) as tags) as d;
    perform pgbaton._check_dedup_id(d.dedup_id, 'skip', d.ordinal)
    from unnest(dedup_ids) with ordinality as d (dedup_id, ordinal)
    where d.dedup_id = '' or octet_length(d.dedup_id) > 1024;
    perform pgbaton._check_run_at(r.run_at, null) from unnest(run_ats) as r (run_at) where r.run_at is not null;
    v_waits := pgbaton._waits_of_rows(afters, on_faileds, run_ats);
    -- The commit looks again: they may be gone by then.
    perform pgbaton._require_parents_of(pgbaton._waits_of_new(v_queue, run_id, v_waits, dedup_ids));

    select coalesce(sum(jsonb_hash_extended(
        u.payload, coalesce(hashtextextended(u.singleton_key, 0), hashtextextended('', 0))
    )), 0)
    into v_digest
    from (select unnest(payloads) as payload, unnest(singleton_keys) as singleton_key) as u;
    if cardinality(payloads) > 0 and num_nonnulls(dedup_ids, order_nos, v_waits) = 0
        and coalesce(priorities = array_fill(priorities[1], array[cardinality(payloads)]), true)
        and coalesce(job_types = array_fill(job_types[1], array[cardinality(payloads)]), true)
        and coalesce(tags = array_fill(tags[1], array[cardinality(payloads)]), true)
    then
        v_job_ids := pgbaton._store_staged(
            v_queue, v_now, payloads, singleton_keys, run_ats, coalesce(priorities[1], 100),
            coalesce(job_types[1], ''), coalesce(tags[1], '{}')
        );
    end if;
    if v_job_ids is null then
        insert into pgbaton.spark_chunk (
            attempt, staged_at, chunk_no, part, jobs, queue_id, day, queue, digest, run_id, payloads, singleton_keys,
            priorities, job_types, tags, run_ats, dedup_ids, order_nos, waits
        )
        values (
            attempt, v_now, chunk_no, part, cardinality(payloads), v_queue.id, v_day, v_queue.name, v_digest, run_id,
            payloads, singleton_keys, priorities, job_types, tags, run_ats, dedup_ids, order_nos, v_waits
        );
    else
        v_spans := pgbaton._cut_into_spans(v_job_ids, singleton_keys, null, run_ats);
        v_ranges := pgbaton._id_ranges(v_job_ids);
        insert into pgbaton.spark_chunk (
            attempt, staged_at, chunk_no, part, jobs, queue_id, day, queue, digest, run_id, los, his, range_los,
            range_his, singleton_keys, priorities, job_types, tags, run_ats
        )
        values (
            attempt, v_now, chunk_no, part, cardinality(payloads), v_queue.id, v_day, v_queue.name, v_digest, run_id,
            v_spans.los, v_spans.his, v_ranges.los, v_ranges.his, v_spans.span_keys, priorities[1:1], job_types[1:1],
            tags[1:1], v_spans.span_run_ats
        );
    end if;
end;
$$;
comment on function pgbaton.spark_stage(
    text, uuid, integer, integer, text, jsonb[], text[], integer[], text[], text[], timestamptz[], text[],
    bigint[], text[], text[]
) is
'Stages rows of a run; spark_commit makes jobs of them. Commit it as you like. Rows with one priority, job type and
list of tags are already stored where jobs are, unseen, so that the commit is short.
attempt: a new id for each attempt at a partition, so that two attempts never mix. part: the number of the partition.
chunk_no: rises with each call of the attempt. The arrays have an entry for each row, or are null for the defaults of
enqueue_job; an entry of tags or afters is an array as text. Entries may be null in singleton_keys (not for a FIFO
queue), run_ats, dedup_ids, order_nos, afters and on_faileds. order_nos orders the rows of the whole run. afters: for
which jobs a row waits; they must exist, now and at the commit, so a row cannot name one of its own run.
Raises PB001, PB002 (a job of afters is not known), PB005, PB009, PB010, PB011, 2202E, 22004, 22023 or 22P02 (tags,
afters).';
