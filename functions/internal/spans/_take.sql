create or replace function pgbaton._take(
    job_ids bigint[], states pgbaton.job_state[], is_fenced boolean, lease_token bigint, allowed_queue_ids integer[],
    is_busy boolean
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_pieces pgbaton.span[];
    v_los bigint[];
    v_his bigint[];
    v_is_partial boolean;
    v_here bigint[];  -- the first jobs of those in span itself, and in leased_span
    v_leased bigint[];
    v_ready bigint[];  -- the last jobs of those in ready_span
begin
    with runs as materialized (
        select min(i.id) as first, max(i.id) as last
        from (
            select j.id, j.id - dense_rank() over (order by j.id) as run
            from unnest(job_ids) as j (id)
            where j.id > 0
        ) as i
        group by i.run
    ), found as materialized (
        -- Without a lock, by the primary key: any other way reads the whole index of a state.
        select r.first, r.last, f.lo, f.hi
        from runs as r
        cross join lateral (
            select s.lo, s.hi from pgbaton.span as s
            where pgbaton._overlaps(s.lo, s.hi, r.first, r.last)
            offset 0
        ) as f
    ), pieces as materialized (
        select
            l.*, greatest(l.lo, f.first) as piece_lo, least(l.hi, f.last) as piece_hi
        from (select o.* from found as o order by o.lo) as f
        -- Each by itself: of ready_span the last end is indexed, of the others the first one, and to look for all at
        -- once by both compares each with all.
        cross join lateral (
            select s.*, s.tableoid::regclass as home from pgbaton.span as s
            where s.lo = f.lo and s.hi = f.hi and s.state = any (states)
                and (allowed_queue_ids is null or s.queue_id = any (allowed_queue_ids))
                and (not is_fenced or s.lease_token = _take.lease_token
                    or (_take.lease_token is null and (s.held_key is null or s.policy is not null)))
            for update
        ) as l
    )
    select
        array_agg(
            row(
                p.piece_lo, p.piece_hi, p.position + (p.piece_hi - p.hi), p.key_position + (p.piece_lo - p.lo),
                p.lease_token, p.lease_until, p.claimed_at, p.started_at, p.run_at, p.changed_at, p.day, p.queue_id,
                p.lane_id, p.state, p.attempt,
                p.extra_attempts, p.slot, p.ready, p.singleton_key, p.held_key, p.worker_id, p.policy
            )::pgbaton.span
            order by p.piece_lo
        ),
        array_agg(p.lo order by p.piece_lo),
        array_agg(p.hi order by p.piece_lo),
        bool_or(p.piece_lo > p.lo or p.piece_hi < p.hi),
        array_agg(p.lo) filter (where p.home = 'pgbaton.span'::regclass),
        array_agg(p.lo) filter (where p.home = 'pgbaton.leased_span'::regclass),
        array_agg(p.hi) filter (where p.home = 'pgbaton.ready_span'::regclass)
    into v_pieces, v_los, v_his, v_is_partial, v_here, v_leased, v_ready
    from pieces as p;

    if v_pieces is null then
        return '{}';
    end if;
    if v_here is not null then
        delete from only pgbaton.span as s where s.lo = any (v_here);
    end if;
    if v_leased is not null then
        delete from pgbaton.leased_span as s where s.lo = any (v_leased);
    end if;
    if v_ready is not null then
        delete from pgbaton.ready_span as s where s.hi = any (v_ready);
    end if;
    if v_is_partial then
        perform pgbaton._put_back_rest(v_pieces, v_los, v_his, is_busy);
    end if;
    return v_pieces;
end;
$$;
comment on function pgbaton._take(bigint[], pgbaton.job_state[], boolean, bigint, integer[], boolean) is
'One pass of _carve: locks the spans that overlap the ids, in order of lo, takes the jobs out and puts the rest
of each span back: job by job when it is_busy.';
