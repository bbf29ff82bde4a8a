create or replace function pgbaton._make_due(due_from timestamptz, at timestamptz, max_spans integer)
returns bigint
language plpgsql volatile
as $$
declare
    v_has_paused constant boolean := exists (select from pgbaton.paused_key);
    v_count bigint;
    v_lane_ids integer[];
begin
    with due as materialized (
        select s.lo, s.policy, s.queue_id, s.singleton_key, s.held_key
        from pgbaton.span as s
        where not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
            and s.run_at >= due_from and s.run_at <= at
        order by s.run_at
        limit max_spans
        for update skip locked
    ), tickets as materialized (
        -- Of a policy with a baton and without it, it goes to the line of its key. Holding a paused key it is due for
        -- good.
        select
            d.*, nextval('pgbaton.position_seq') as position,
            d.policy is null or d.policy not in ('singleton', 'stately') or d.held_key is not null as is_ready,
            v_has_paused and exists (
                select from pgbaton.paused_key as k
                where k.queue_id = d.queue_id and k.singleton_key = d.held_key
            ) as is_paused
        from due as d
    ), made_due as (
        update pgbaton.span as s
        set ready = t.is_ready and not t.is_paused, position = t.position,
            run_at = case when not t.is_paused then s.run_at end,
            state = case when t.is_ready then s.state else 'waiting' end,
            key_position = case when t.is_ready then s.key_position else t.position end
        from tickets as t
        where s.lo = t.lo
        returning s.hi - s.lo + 1 as jobs, s.lane_id
    ), queued as (
        insert into pgbaton.baton_release (queue_id, singleton_key)
        select t.queue_id, t.singleton_key from tickets as t where not t.is_ready
    )
    select coalesce(sum(m.jobs), 0), array_agg(distinct m.lane_id) into v_count, v_lane_ids from made_due as m;
    if v_count > 0 and exists (select from pgbaton.sleeper) then
        perform pgbaton._wake(v_lane_ids);
    end if;
    return v_count;
end;
$$;
comment on function pgbaton._make_due(timestamptz, timestamptz, integer) is
'Makes jobs claimable whose run_at has come, at the end of their line, and returns how many.';
