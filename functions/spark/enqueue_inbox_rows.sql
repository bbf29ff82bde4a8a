create or replace function pgbaton.enqueue_inbox_rows()
returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_first record;
    v_all record;  -- parallel arrays
    v_part record;
    v_skipped text[];  -- parts that are done in a queue
    v_name text;
    v_queue pgbaton.queue;
    v_jobs record;  -- parallel arrays
    v_day constant date := pgbaton._day(pgbaton._now());
    v_job_ids bigint[];  -- of the rows, null for duplicates
    v_waits jsonb[];
begin
    select a.queue, a.priority, a.job_type, a.tags, a.run_id, a.part, a.parts into v_first from added as a limit 1;
    if not found then
        return null;
    end if;
    -- Of most statements all rows are of one lane and one part, and stand in the order in which they came.
    select
        bool_and(
            a.queue is not distinct from v_first.queue
            and a.priority is not distinct from v_first.priority
            and a.job_type is not distinct from v_first.job_type
            and a.tags is not distinct from v_first.tags
            and a.run_id is not distinct from v_first.run_id
            and a.part is not distinct from v_first.part
            and a.parts is not distinct from v_first.parts
            and a.order_no is null
        ) as are_alike,
        array_agg(a.payload) as payloads,
        case when count(a.singleton_key) > 0 then array_agg(a.singleton_key) end as singleton_keys,
        case when count(a.run_at) > 0 then array_agg(a.run_at) end as run_ats,
        case when count(a.dedup_id) > 0 then array_agg(a.dedup_id) end as dedup_ids,
        case when count(a.after) > 0 then array_agg(a.after::text) end as afters,
        case when count(a.on_failed) > 0 then array_agg(a.on_failed) end as on_faileds
    into v_all
    from added as a;
    if v_all.run_ats is not null then
        perform pgbaton._check_run_at(r.run_at, null) from unnest(v_all.run_ats) as r (run_at)
        where r.run_at is not null;
    end if;
    v_waits := pgbaton._waits_of_rows(v_all.afters, v_all.on_faileds, v_all.run_ats);
    if v_all.are_alike then
        v_queue := pgbaton._enter_queue(v_first.queue);
        if num_nonnulls(v_first.run_id, v_first.part, v_first.parts) > 0
            and not pgbaton._enter_part(v_queue.id, v_first.run_id, v_first.part, v_first.parts)
        then
            return null;
        end if;
        perform pgbaton._enter_keys(v_queue, v_all.singleton_keys, v_first.part, v_first.parts);
        v_job_ids := pgbaton._add_staged(
            v_queue, v_all.payloads, v_all.singleton_keys,
            pgbaton._lane_id(
                v_queue, coalesce(v_first.priority, 100), coalesce(v_first.job_type, ''), coalesce(v_first.tags, '{}')
            ),
            null, v_all.run_ats, v_all.dedup_ids, waits => v_waits
        );
        if v_first.run_id is not null then
            perform pgbaton._note_jobs(v_queue.id, v_first.run_id, v_first.part, v_day, v_job_ids);
        end if;
        return null;
    end if;

    -- Both loops in one order, so that two statements for the same never wait for each other in a circle.
    for v_name in
        select d.queue from (select distinct a.queue from added as a) as d
        left join pgbaton.queue as q on q.name = d.queue
        order by q.id
    loop
        v_queue := pgbaton._enter_queue(v_name);
        v_skipped := null;
        for v_part in
            select distinct a.run_id, a.part, a.parts from added as a
            where a.queue = v_queue.name and num_nonnulls(a.run_id, a.part, a.parts) > 0
            order by 1, 2, 3
        loop
            if not pgbaton._enter_part(v_queue.id, v_part.run_id, v_part.part, v_part.parts) then
                v_skipped := v_skipped || (v_part.part || ' ' || v_part.run_id);
            end if;
        end loop;
        continue when v_skipped is not null and not exists (
            select from added as a
            where a.queue = v_queue.name and (a.part || ' ' || a.run_id = any (v_skipped)) is not true
        );
        with lanes as materialized (
            select d.*, pgbaton._lane_id(v_queue, d.priority, d.job_type, d.tags) as lane_id
            from (
                select n.priority, n.job_type, n.tags from (
                    select distinct
                        coalesce(a.priority, 100) as priority, coalesce(a.job_type, '') as job_type,
                        coalesce(a.tags, '{}') as tags
                    from added as a where a.queue = v_queue.name
                ) as n
                order by n.priority, n.job_type, pgbaton._normal_tags(n.tags)
                offset 0
            ) as d
        )
        select
            array_agg(r.payload) as payloads, array_agg(r.row_no) as row_nos,
            case when count(r.singleton_key) > 0 then array_agg(r.singleton_key) end as singleton_keys,
            min(r.lane_id) as lane_id,
            case when min(r.lane_id) < max(r.lane_id) then array_agg(r.lane_id) end as lane_ids,
            case when count(r.run_at) > 0 then array_agg(r.run_at) end as run_ats,
            case when count(r.dedup_id) > 0 then array_agg(r.dedup_id) end as dedup_ids,
            case when v_waits is not null then array_agg(v_waits[r.row_no]) end as waits,
            case when count(r.run_id) > 0 then array_agg(r.run_id) end as run_ids,
            case when count(r.run_id) > 0 then array_agg(r.part) end as parts,
            case when min(r.part) = max(r.part) and count(r.part) = count(*) then min(r.part) end as part,
            max(r.parts) as max_parts
        into v_jobs
        from (
            select a.*, l.lane_id from (select row_number() over () as row_no, r.* from added as r) as a
            inner join lanes as l
                on l.priority = coalesce(a.priority, 100) and l.job_type = coalesce(a.job_type, '')
                and l.tags = coalesce(a.tags, '{}')
            where a.queue = v_queue.name and (a.part || ' ' || a.run_id = any (v_skipped)) is not true
            order by a.order_no, a.row_no
            offset 0
        ) as r;

        perform pgbaton._enter_keys(v_queue, v_jobs.singleton_keys, v_jobs.part, v_jobs.max_parts);
        v_job_ids := pgbaton._add_staged(
            v_queue, v_jobs.payloads, v_jobs.singleton_keys, v_jobs.lane_id, v_jobs.lane_ids, v_jobs.run_ats,
            v_jobs.dedup_ids, v_jobs.row_nos, v_jobs.waits
        );
        if v_jobs.run_ids is not null then
            perform pgbaton._note_jobs(v_queue.id, c.run_id, c.part, v_day, c.job_ids)
            from (
                select u.run_id, u.part, array_agg(u.job_id order by u.ordinal) as job_ids
                from unnest(v_jobs.run_ids, v_jobs.parts, v_job_ids) with ordinality
                    as u (run_id, part, job_id, ordinal)
                where u.run_id is not null
                group by u.run_id, u.part
            ) as c;
        end if;
    end loop;
    return null;
end;
$$;
comment on function pgbaton.enqueue_inbox_rows() is
'Trigger of the view enqueue_inbox: turns the rows of one insert into jobs, except rows of a part that was enqueued
into their queue before, and rows whose dedup_id is known. It cannot be called.
Raises PB001, PB002 (a job of after is not known), PB005, PB006 (the policy allows no further job of a key), PB009,
PB010, PB011, PB013, 22004 or 22023.';
