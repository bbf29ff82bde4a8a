create or replace function pgbaton._is_behind(queue pgbaton.queue, singleton_key text, known_id bigint)
returns boolean
language plpgsql volatile
as $$
declare
    v_span constant pgbaton.span := pgbaton._live_span(known_id);
begin
    return coalesce(v_span.state <> 'failed' or v_span.held_key is not null, false) or (
        queue.policy = 'stately' and exists (
            select from only pgbaton.span as s
            where s.queue_id = queue.id and s.singleton_key = coalesce(_is_behind.singleton_key, '') and s.slot = 0
            offset 0
        )
    );
end;
$$;
comment on function pgbaton._is_behind(pgbaton.queue, text, bigint) is
'Whether a job that is about to be added has an earlier one before it that was claimed and has not ended: that of its
dedup id, or of stately the one of its key that runs.';
