create or replace function pgbaton._require_run(run_id text)
returns integer[]
language plpgsql stable
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('enqueue');
begin
    perform pgbaton._check_run_id(run_id);
    if not exists (
        select from pgbaton.enqueue_run as r
        where r.run_id = _require_run.run_id and r.queue_ids = coalesce(v_allowed, '{}')
    ) then
        raise exception using
            errcode = 'undefined_object',
            message = format('there is no run "%s"', run_id),
            hint = 'Nothing of it was enqueued by you, or it ended more than 30 days ago.';
    end if;
    return v_allowed;
end;
$$;
comment on function pgbaton._require_run(text) is
'The ids of the queues whose part of a run is the caller''s; null is all. Raises 42704 (no such run), 22004 or 22023.';
