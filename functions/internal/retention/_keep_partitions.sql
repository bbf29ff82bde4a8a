create or replace function pgbaton._keep_partitions()
returns integer
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_last_day constant text := to_char(pgbaton._day(v_now) + 3, 'YYYYMMDD');
begin
    -- Once a minute at most: a long transaction makes each try a stall of 50 ms for everybody.
    if to_regclass('pgbaton.job_error_' || v_last_day) is not null or exists (
        select from pgbaton.watermark as w
        where w.kind = 'partitions' and w.lane_id = 0 and w.value > pgbaton._micros(v_now - interval '1 minute')
    ) then
        return 0;
    end if;
    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values ('partitions', 0, pgbaton._micros(v_now), pg_current_xact_id(), v_now);
    begin
        return pgbaton._add_partitions();
    exception
        when lock_not_available then
            return 0;
    end;
end;
$$;
comment on function pgbaton._keep_partitions() is
'Makes the partitions of the next days unless they are there, and returns how many. When a long transaction is
in the way it leaves them for the next minute: there are three days in hand, and the default partitions after
that.';
