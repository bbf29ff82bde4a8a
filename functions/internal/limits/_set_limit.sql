create or replace function pgbaton._set_limit(
    queue_id integer, kind pgbaton.limit_kind, size integer, refill interval
)
returns boolean
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_old pgbaton.queue_limit;
    v_permits constant integer := case
        when kind = 'running' then size when kind in ('rate', 'burst') then least(size, 100) else 0
    end;
    v_starts pgbaton.permit[];
    v_leased integer := 0;
begin
    select l.* into v_old from pgbaton.queue_limit as l
    where l.queue_id = _set_limit.queue_id and l.kind = _set_limit.kind;
    if v_old.size is not distinct from _set_limit.size and v_old.refill is not distinct from _set_limit.refill then
        return false;
    end if;
    v_starts := array(
        select h::pgbaton.permit from pgbaton._permits(v_old, v_now) as h where h.used > 0
    );
    delete from pgbaton.permit as p where p.queue_id = _set_limit.queue_id and p.kind = _set_limit.kind;
    delete from pgbaton.queue_limit as l where l.queue_id = _set_limit.queue_id and l.kind = _set_limit.kind;
    if size is null then
        return true;
    elsif kind = 'running' then
        v_leased := pgbaton._permits_of_leases(queue_id);
    end if;
    insert into pgbaton.queue_limit (queue_id, kind, size, permits, last_no, refill)
    values (queue_id, kind, size, v_permits, greatest(v_permits, v_leased), refill);
    if v_permits = 0 then
        return true;
    end if;
    insert into pgbaton.permit (queue_id, kind, no, version, units, used)
    select
        _set_limit.queue_id, _set_limit.kind, n.no, nextval('pgbaton.permit_seq'),
        size / v_permits + (n.no <= size % v_permits)::integer, 0
    from generate_series(v_leased + 1, v_permits) as n (no);
    if cardinality(v_starts) > 0 and kind <> 'running' then
        perform pgbaton._carry_over(queue_id, kind, v_starts, v_old.refill);
    end if;
    return true;
end;
$$;
comment on function pgbaton._set_limit(integer, pgbaton.limit_kind, integer, interval) is
'Makes, changes or (size null) removes a limit, and says whether that changed anything. What runs, and what started
within the interval, counts. No claim of the queue is open then.';
