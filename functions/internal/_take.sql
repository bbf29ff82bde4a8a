create or replace function pgbaton._take(
    job_ids bigint[], states pgbaton.job_state[], is_fenced boolean, lease_token bigint
)
returns pgbaton.span[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_pieces pgbaton.span[];
    v_los bigint[];
    v_his bigint[];
    v_is_partial boolean;
begin
    with runs as (
        select min(i.id) as first, max(i.id) as last
        from (
            select d.id, d.id - row_number() over (order by d.id) as run
            from (select distinct j.id from unnest(job_ids) as j (id)) as d
        ) as i
        group by i.run
    ), locked as (
        select
            s.lo as whole_lo, s.hi as whole_hi,
            greatest(s.lo, r.first) as lo, least(s.hi, r.last) as hi,
            s.position + greatest(s.lo, r.first) - s.lo as position,
            s.key_position, s.lease_token, s.lease_until, s.claimed_at, s.started_at, s.run_at, s.changed_at,
            s.day, s.queue_id, s.lane_id, s.state, s.attempt, s.extra_attempts, s.ready,
            s.singleton_key, s.held_key, s.worker_id
        from runs as r
        inner join pgbaton.span as s on s.lo > r.first - 64 and s.lo <= r.last and s.hi >= r.first
        where s.state = any (states)
            and (not is_fenced or s.lease_token = _take.lease_token
                or (_take.lease_token is null and s.held_key is null))
        order by s.lo
        for update of s
    )
    select
        array_agg(
            row(
                p.lo, p.hi, p.position, p.key_position, p.lease_token, p.lease_until, p.claimed_at, p.started_at,
                p.run_at, p.changed_at, p.day, p.queue_id, p.lane_id, p.state, p.attempt, p.extra_attempts, p.ready,
                p.singleton_key, p.held_key, p.worker_id
            )::pgbaton.span order by p.lo
        ),
        array_agg(p.whole_lo order by p.lo),
        array_agg(p.whole_hi order by p.lo),
        bool_or(p.lo > p.whole_lo or p.hi < p.whole_hi)
    into v_pieces, v_los, v_his, v_is_partial
    from locked as p;

    if v_pieces is null then
        return '{}';
    end if;
    delete from pgbaton.span as s where s.lo = any (v_los);
    if v_is_partial then
        perform pgbaton._put_back_rest(v_pieces, v_los, v_his);
    end if;
    return v_pieces;
end;
$$;
comment on function pgbaton._take(bigint[], pgbaton.job_state[], boolean, bigint) is
'One pass of _carve: locks the spans that overlap the ids, in order of lo, takes the jobs out and puts the rest of each span back.';
