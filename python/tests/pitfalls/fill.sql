-- Puts many jobs into the tables at once: half of them in queue plain, without a key and in spans of 64; of the other half,
-- in FIFO queue q, 99 % have the same key, and the others stand in pairs.
create or replace function fill(jobs bigint) returns void
language sql as $$
    with start as materialized (
        select
            (nextval('pgbaton.job_id_seq') / 64 + 2) * 64 as id, nextval('pgbaton.position_seq') as position,
            pgbaton._day(pgbaton._now()) as day
    ), numbered as materialized (
        select n, n > jobs / 2 as is_keyed, n - jobs / 2 - 1 as nth from generate_series(1, jobs) as n
    ), placed as materialized (
        select
            s.id + i.n as id, s.position + case when i.is_keyed then 64 * i.n else i.n end as position, s.day,
            l.id as lane_id, l.queue_id,
            case when i.is_keyed then case when i.nth % 200 < 198 then 'hot' else 'cold ' || i.nth / 200 end end as key,
            i.nth = 0 or i.nth % 200 = 198 as is_head
        from numbered as i
        cross join start as s
        inner join pgbaton.queue as q on q.name = case when i.is_keyed then 'q' else 'plain' end
        inner join pgbaton.lane as l on l.queue_id = q.id
    ), stored as (
        insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, payload)
        select p.id, pgbaton._now(), p.day, p.lane_id, p.key, '1' from placed as p
    ), plain as (
        insert into pgbaton.ready_span (lo, hi, position, day, queue_id, lane_id, state, ready)
        select min(p.id), max(p.id), max(p.position), p.day, p.queue_id, p.lane_id, 'pending', true
        from placed as p
        where p.key is null
        group by (p.id - 1) / 64, p.day, p.queue_id, p.lane_id
    )
    insert into pgbaton.span (
        lo, hi, position, key_position, day, queue_id, lane_id, state, ready, singleton_key, held_key, slot
    )
    select
        p.id, p.id, p.position, p.position, p.day, p.queue_id, p.lane_id,
        case when p.is_head then 'pending'::pgbaton.job_state else 'waiting' end, p.is_head, p.key,
        case when p.is_head then p.key end, case when p.is_head then 1 + p.id % 32767 end
    from placed as p
    where p.key is not null;

    select setval('pgbaton.job_id_seq', max(s.hi) / 64 * 64 + 128), setval('pgbaton.position_seq', max(s.position) + 64)
    from pgbaton.span as s where jobs > 0
    having count(*) > 0;
$$;
