create or replace function pgbaton._expire_dead_letters(job_ids bigint[])
returns bigint
language plpgsql volatile
as $$
declare
    v_spans constant pgbaton.span[] := pgbaton._carve(job_ids, array['failed']::pgbaton.job_state[]);
begin
    perform pgbaton._finish(v_spans, 'failed', 'expired');
    return (select coalesce(sum(s.hi - s.lo + 1), 0) from unnest(v_spans) as s);
end;
$$;
comment on function pgbaton._expire_dead_letters(bigint[]) is
'Gives up failed jobs that _old_dead_letters named, and returns how many.';
