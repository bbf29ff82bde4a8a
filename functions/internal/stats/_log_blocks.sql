create or replace function pgbaton._log_blocks(at timestamptz)
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
    where s.held_key is not null and s.slot <= 0 and s.state in ('failed', 'retry') and not s.ready
        and s.changed_at < at - interval '5 minutes'
    order by s.queue_id, s.held_key, s.lo
    limit 10000
    on conflict on constraint key_block_pkey do update
    set noted_at = excluded.noted_at, state = excluded.state, attempts = excluded.attempts,
        waiting_count = excluded.waiting_count, ended_at = null;
    update pgbaton.key_block as b set ended_at = at where b.ended_at is null and b.noted_at <> at;
    delete from pgbaton.key_block as b
    where b.ended_at < at - interval '30 days'
        or not exists (select from pgbaton.queue as q where q.id = b.queue_id);
end;
$$;
comment on function pgbaton._log_blocks(timestamptz) is
'Keeps the log of keys that are blocked for more than five minutes; what ended stays for 30 days.';
