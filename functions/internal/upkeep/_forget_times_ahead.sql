create or replace function pgbaton._forget_times_ahead(at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_shown timestamptz;
begin
    -- Until the clock shows that time again, nothing would be due or swept.
    with gone as (
        delete from pgbaton.watermark as w
        where w.ctid = any (array(
            select f.ctid from pgbaton.watermark as f
            -- By their value: of those that were dropped no dead rows are read.
            where f.kind = any (array['due', 'lease', 'sweep', 'maintenance', 'partitions', 'retention', 'clock'])
                and f.lane_id = any (array[0, 1]) and f.value > pgbaton._micros(at)
                and f.recorded_at > at + interval '10 seconds'
            for update skip locked
        ))
        returning w.recorded_at
    )
    select max(g.recorded_at) into v_shown from gone as g;
    if v_shown > at + interval '1 minute' then
        delete from pgbaton.watermark as w
        where w.ctid = any (array(
            select o.ctid from pgbaton.watermark as o where o.kind = 'clock' for update skip locked
        ));
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('clock', 0, pgbaton._micros(v_shown), pg_current_xact_id(), at);
    end if;
end;
$$;
comment on function pgbaton._forget_times_ahead(timestamptz) is
'Forgets the watermarks of a clock that was set back, and notes that it was, when by more than a minute: _mend_clock
sees to the rest.';
