create or replace function pgbaton._cancel(spans pgbaton.span[])
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._put(array(
        select row(
            s.lo, s.hi, s.position, s.key_position, s.lease_token, s.lease_until, s.claimed_at, s.started_at,
            s.run_at, s.changed_at, s.day, s.queue_id, s.lane_id, 'cancelling', s.attempt, s.extra_attempts, s.slot,
            s.ready, s.singleton_key, s.held_key, s.worker_id, s.policy
        )::pgbaton.span
        from unnest(spans) as s
        where s.state in ('active', 'cancelling')
    ));
    perform pgbaton._finish(
        array(
            select s::pgbaton.span from unnest(spans) as s
            where s.state in ('waiting', 'pending') and s.claimed_at is null
        ),
        'unscheduled'
    );
    perform pgbaton._finish(
        array(
            select s::pgbaton.span from unnest(spans) as s
            where s.state in ('retry', 'unknown_retry')
                or (s.state in ('waiting', 'pending') and s.claimed_at is not null)
        ),
        'stopped'
    );
end;
$$;
comment on function pgbaton._cancel(pgbaton.span[]) is
'Cancels spans that were carved out: running ones become cancelling, the others end.';
