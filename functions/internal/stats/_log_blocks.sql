create or replace function pgbaton._log_blocks(at timestamptz, job_ids bigint[])
returns void
language plpgsql volatile
as $$
begin
    insert into pgbaton.key_block as b (
        queue_id, singleton_key, job_id, blocked_at, noted_at, state, attempts, waiting_count
    )
    select
        s.queue_id, s.held_key, s.lo, s.changed_at, at, s.state, s.attempt,
        (
            select coalesce(sum(w.hi - w.lo + 1), 0) from only pgbaton.span as w
            where w.queue_id = s.queue_id and w.singleton_key = s.held_key and w.state = 'waiting'
        )
    from only pgbaton.span as s
    where s.lo = any (job_ids) and s.held_key is not null and s.state in ('failed', 'retry') and not s.ready
    on conflict on constraint key_block_pkey do update
    set noted_at = excluded.noted_at, state = excluded.state, attempts = excluded.attempts,
        waiting_count = excluded.waiting_count, ended_at = null;
end;
$$;
comment on function pgbaton._log_blocks(timestamptz, bigint[]) is
'Notes that these jobs block their keys.';
