create or replace function pgbaton._blocks_that_ended(at timestamptz)
returns text[]
language plpgsql volatile
as $$
begin
    return array(
        select b.job_id::text from pgbaton.key_block as b
        where b.ended_at is null and b.noted_at <> at and not exists (
            select from only pgbaton.span as s
            where s.lo = b.job_id and s.held_key is not null and s.state in ('failed', 'retry') and not s.ready
            offset 0
        )
        for update skip locked
    );
end;
$$;
comment on function pgbaton._blocks_that_ended(timestamptz) is
'The jobs in the log of blocked keys that block them no longer.';
