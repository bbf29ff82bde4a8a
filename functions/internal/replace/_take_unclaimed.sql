create or replace function pgbaton._take_unclaimed(job_ids bigint[])
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans constant pgbaton.span[] := pgbaton._carve(job_ids, array['pending', 'waiting']::pgbaton.job_state[]);
begin
    -- A failed job whose key went on without it, and that is retried, waits in line as well.
    if exists (select from unnest(v_spans) as s where s.claimed_at is not null) then
        perform pgbaton._put(array(select s::pgbaton.span from unnest(v_spans) as s where s.claimed_at is not null));
    end if;
    return array(select s::pgbaton.span from unnest(v_spans) as s where s.claimed_at is null);
end;
$$;
comment on function pgbaton._take_unclaimed(bigint[]) is
'Takes those of the jobs out that nobody has claimed yet. Waits for an open claim of one of them.';
