create or replace function pgbaton._let_start(
    queue_id integer, at timestamptz, started_after timestamptz default '-infinity',
    put_off_beyond timestamptz default '-infinity'
)
returns bigint
language plpgsql volatile
as $$
declare
    v_los bigint[];
    v_count bigint;
begin
    v_los := array(
        select s.lo from (
            select k.queue_id, k.singleton_key, k.put_off_until from pgbaton.key_start as k
            where k.queue_id = _let_start.queue_id and k.last_at >= started_after
                and k.put_off_until > put_off_beyond
            offset 0
        ) as p
        cross join lateral (
            select o.lo from only pgbaton.span as o
            where o.queue_id = p.queue_id and o.singleton_key = p.singleton_key and o.slot is not null
                and o.held_key is not null and not o.ready and o.run_at = p.put_off_until
            offset 0
        ) as s
    );
    -- In the order of all who lock several.
    perform from only pgbaton.span as s where s.lo = any (v_los) order by s.lo for update;
    with freed as (
        update only pgbaton.span as s
        set ready = true, run_at = _let_start.at, position = nextval('pgbaton.position_seq')
        where s.lo = any (v_los) and s.held_key is not null and s.state in ('pending', 'retry', 'unknown_retry')
            -- Not ready itself, or all claimable jobs may be read.
            and not coalesce(s.ready, false) and exists (
                select from pgbaton.key_start as k
                where k.queue_id = s.queue_id and k.singleton_key = s.held_key and k.put_off_until = s.run_at
                offset 0
            )
        returning s.lo
    )
    select count(*) into v_count from freed as f;
    return v_count;
end;
$$;
comment on function pgbaton._let_start(integer, timestamptz, timestamptz, timestamptz) is
'Makes the jobs of a queue claimable that were put off by the rate of their keys, and that nobody has moved since; of
keys whose last start was not before the one time, and put off until later than the other. Returns how many. The next
claim looks at the rate.';
