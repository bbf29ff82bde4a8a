create or replace function pgbaton._lock_spans_of(queue_id integer)
returns void
language plpgsql volatile
as $$
declare
    v_seen record;
    v_locked record;
begin
    -- Until nothing new is seen: what claims, completions and the upkeep moved while we waited for their locks lives on
    -- in other rows.
    loop
        select count(*) as spans, sum(l.lo) as los, sum(l.hi) as his into v_locked
        from (
            select s.lo, s.hi from pgbaton.span as s
            where s.queue_id = _lock_spans_of.queue_id
            order by s.lo
            for update
        ) as l;
        exit when v_locked is not distinct from v_seen;
        v_seen := v_locked;
    end loop;
end;
$$;
comment on function pgbaton._lock_spans_of(integer) is
'Locks all live spans of a queue, in which nobody enqueues meanwhile: when it returns nobody moves one.';
