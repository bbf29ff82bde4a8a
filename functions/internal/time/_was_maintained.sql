create or replace function pgbaton._was_maintained(since timestamptz, at timestamptz)
returns boolean
language plpgsql volatile
set lock_timeout = '200ms'
as $$
begin
    return exists (
        select from pgbaton.watermark as w
        where w.kind = 'maintenance' and w.lane_id = 0
            and w.value between pgbaton._micros(since) and pgbaton._micros(at + interval '1 minute')
    );
exception
    when lock_not_available then return false;  -- somebody has the table: what does not need it is done
end;
$$;
comment on function pgbaton._was_maintained(timestamptz, timestamptz) is
'Whether run_maintenance was done since then.';
