create or replace function pgbaton._resume_holders(queue_ids integer[], singleton_keys text[])
returns setof pgbaton.baton_release
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_los bigint[];
    v_locked bigint[];
    v_lane_ids integer[];
begin
    select array_agg(h.lo) into v_los
    from unnest(queue_ids, singleton_keys) as f (queue_id, singleton_key)
    cross join lateral (
        select s.lo, s.state, s.ready, s.run_at from only pgbaton.span as s
        where s.queue_id = f.queue_id and s.singleton_key = f.singleton_key
            and s.slot is not null and s.held_key is not null
        offset 0
    ) as h
    where h.state in ('pending', 'retry', 'unknown_retry') and not h.ready and coalesce(h.run_at <= v_now, true)
        and not exists (
            select from pgbaton.paused_key as k
            where k.queue_id = f.queue_id and k.singleton_key = f.singleton_key
        );
    if v_los is null then
        return;
    end if;
    v_locked := array(
        select s.lo from only pgbaton.span as s where s.lo = any (v_los) order by s.lo for update skip locked
    );
    with resumed as (
        update only pgbaton.span as s set ready = true, position = nextval('pgbaton.position_seq')
        where s.lo = any (v_locked) and not s.ready and s.held_key is not null
            and s.state in ('pending', 'retry', 'unknown_retry') and coalesce(s.run_at <= v_now, true)
        returning s.lane_id
    )
    select array_agg(distinct r.lane_id) into v_lane_ids from resumed as r;
    if v_lane_ids is not null then
        perform pgbaton._wake(v_lane_ids);
    end if;
    return query
    select 0::bigint, s.queue_id, s.singleton_key, null::bigint from only pgbaton.span as s
    where s.lo = any (v_los) and s.lo <> all (v_locked) and s.singleton_key is not null;
end;
$$;
comment on function pgbaton._resume_holders(integer[], text[]) is
'Makes the holders of these keys claimable that were set aside while their keys were paused, which are so no more, and
returns the keys of those that somebody else has locked.';
