create or replace function pgbaton._lock_spans_of(queue_id integer)
returns void
language plpgsql volatile
as $$
declare
    v_locked record;
    v_now_there record;
begin
    -- What claims, completions and the upkeep moved while we waited for their locks lives on in other rows. Then all
    -- are let go and locked anew: who holds one of those may wait for another that we hold.
    loop
        begin
            select count(*) as spans, sum(l.lo) as los, sum(l.hi) as his into v_locked
            from (
                select s.lo, s.hi from pgbaton.span as s
                where s.queue_id = _lock_spans_of.queue_id
                order by s.lo
                for update
            ) as l;
            select count(*) as spans, sum(s.lo) as los, sum(s.hi) as his into v_now_there
            from pgbaton.span as s
            where s.queue_id = _lock_spans_of.queue_id;
            if v_locked is not distinct from v_now_there then
                return;
            end if;
            raise exception using errcode = 'PB000', message = 'a span was moved meanwhile';
        exception when sqlstate 'PB000' then
            continue;
        end;
    end loop;
end;
$$;
comment on function pgbaton._lock_spans_of(integer) is
'Locks all live spans of a queue, in which nobody enqueues meanwhile: when it returns nobody moves one.';
