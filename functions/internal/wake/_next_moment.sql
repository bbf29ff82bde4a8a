create or replace function pgbaton._next_moment(queue_ids integer[], until timestamptz)
returns timestamptz
language plpgsql stable
as $$
begin
    -- What stands below the watermarks was handled, or is found by _sweep.
    return (
        select least(
            (
                select s.run_at from only pgbaton.span as s
                where not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
                    and s.run_at >= w.due_from and s.run_at < _next_moment.until and s.queue_id = any (queue_ids)
                order by s.run_at
                limit 1
            ), (
                select s.lease_until from pgbaton.held_span as s
                where s.state in ('active', 'cancelling')
                    and s.lease_until >= w.leases_from and s.lease_until < _next_moment.until
                    and s.queue_id = any (queue_ids)
                order by s.lease_until
                limit 1
            ) + interval '1 microsecond'
        )
        from pgbaton._upkeep_bounds() as w
    );
end;
$$;
comment on function pgbaton._next_moment(integer[], timestamptz) is
'When the first job of these queues falls due, or the first lease ends, if that is before until: null when nothing does.
Earlier than now when somebody else holds what was due by then.';
