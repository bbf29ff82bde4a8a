create or replace function pgbaton._was_maintained(minute timestamptz)
returns boolean
language plpgsql volatile
set lock_timeout = '200ms'
as $$
begin
    return exists (
        select from pgbaton.watermark as w
        where w.kind = 'maintenance' and w.lane_id = 0
            and w.value between pgbaton._micros(minute) and pgbaton._micros(minute + interval '1 minute')
    );
exception
    when lock_not_available then return false;  -- somebody has the table: what does not need it is done
end;
$$;
comment on function pgbaton._was_maintained(timestamptz) is
'Whether run_maintenance was done in this minute.';
