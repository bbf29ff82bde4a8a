create or replace function pgbaton._partitions_to_add()
returns text[]
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
        return '{}';
    end if;
    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values ('partitions', 0, pgbaton._micros(v_now), pg_current_xact_id(), v_now);
    return pgbaton._missing_partitions();
end;
$$;
comment on function pgbaton._partitions_to_add() is
'The partitions of the next days unless they are there; once a minute at most.';
