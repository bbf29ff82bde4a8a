create or replace function pgbaton._merged(spans pgbaton.span[])
returns pgbaton.span[]
language plpgsql immutable parallel safe
as $$
begin
    return (
        select array_agg(
            row(
                (r.first).lo, r.hi, (r.first).position + (r.hi - (r.first).hi), (r.first).key_position,
                (r.first).lease_token, (r.first).lease_until, (r.first).claimed_at, (r.first).started_at,
                (r.first).run_at, (r.first).changed_at, (r.first).day, (r.first).queue_id, (r.first).lane_id,
                (r.first).state, (r.first).attempt, (r.first).extra_attempts, (r.first).slot, (r.first).ready,
                (r.first).singleton_key, (r.first).held_key, (r.first).worker_id, (r.first).policy
            )::pgbaton.span
        )
        from (
            select (array_agg(m.span order by m.lo))[1] as first, max(m.hi) as hi
            from (
                select
                    s::pgbaton.span as span, s.lo, s.hi, s.day, s.lane_id,
                    case
                        when s.hi = s.lo and num_nonnulls(s.singleton_key, s.claimed_at, s.run_at) = 0
                            then s.lo - row_number() over (
                                partition by s.lane_id, s.hi = s.lo and num_nonnulls(s.singleton_key, s.claimed_at, s.run_at) = 0
                                order by s.lo
                            )
                    end as run
                from unnest(spans) as s
            ) as m
            -- Ids in a block of 64 keep a span within bounds.
            group by m.lane_id, m.day, m.run, (m.lo - 1) / 64, case when m.run is null then m.lo end
        ) as r
    );
end;
$$;
comment on function pgbaton._merged(pgbaton.span[]) is
'These spans, but those of one job without a key that nobody had yet, and that were enqueued one after the other in one
lane, become one.';
