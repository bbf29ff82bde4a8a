create or replace function pgbaton._keep_days(at timestamptz)
returns integer
language plpgsql volatile
as $$
begin
    -- An older snapshot does not see all that is to be kept.
    if not pgbaton._is_read_committed() then
        return 0;
    end if;
    -- Once in ten minutes at most: it looks at whole days, and a long transaction makes each try a stall of 50 ms.
    if exists (
        select from pgbaton.watermark as w
        where w.kind = 'retention' and w.lane_id = 0 and w.value > pgbaton._micros(at - interval '10 minutes')
    ) then
        return 0;
    end if;
    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values ('retention', 0, pgbaton._micros(at), pg_current_xact_id(), at);
    begin
        return pgbaton._drop_days(at);
    exception
        when lock_not_available then
            return 0;
    end;
end;
$$;
comment on function pgbaton._keep_days(timestamptz) is
'Drops days that are over and returns how many; leaves them for the next time when a long transaction is in the
way.';
