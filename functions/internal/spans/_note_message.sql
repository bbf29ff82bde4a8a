create or replace function pgbaton._note_message(spans pgbaton.span[], message text, is_retry boolean)
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
begin
    insert into pgbaton.job_report as r (job_id, last_retry_at, day, retry_count, last_error)
    select g.id, case when is_retry then v_now end, s.day, is_retry::integer, pgbaton._shortened(message, 1048576)
    from unnest(spans) as s
    cross join lateral generate_series(s.lo, s.hi) as g (id)
    on conflict on constraint job_report_pkey do update
    set last_retry_at = coalesce(excluded.last_retry_at, r.last_retry_at),
        retry_count = r.retry_count + excluded.retry_count,
        last_error = excluded.last_error;
end;
$$;
comment on function pgbaton._note_message(pgbaton.span[], text, boolean) is
'Keeps a message, which may be empty, as the last error of each job, and counts a retry.';
