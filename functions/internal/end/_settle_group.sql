create or replace function pgbaton._settle_group(child_id bigint, no integer)
returns text
language plpgsql volatile
as $$
declare
    v_wait pgbaton.job_wait;
    v_edge record;
    v_verdict text := 'settled';
begin
    select w.* into v_wait from pgbaton.job_wait as w
    where w.child_id = _settle_group.child_id and w.level = 0 and w.no = _settle_group.no
    for update skip locked;
    if not found then
        return 'busy';
    end if;
    for v_edge in
        select e.parent_id, e.ordinal from pgbaton.job_edge as e
        where e.child_id = v_wait.child_id and e.ordinal between v_wait.no * 16 and v_wait.ordinal
        order by e.ordinal desc
    loop
        v_verdict := pgbaton._edge_verdict(v_edge.parent_id, v_wait.on_failed);
        exit when v_verdict <> 'settled';
    end loop;
    if v_verdict = 'settled' then
        return pgbaton._settle_wait(v_wait);
    elsif v_verdict <> 'cancel'
        and (v_edge.ordinal <> v_wait.ordinal or (v_verdict = 'blocked' and v_wait.blocked_at is null))
    then
        update pgbaton.job_wait as w
        set parent_id = v_edge.parent_id, ordinal = v_edge.ordinal,
            blocked_at = case
                when v_verdict = 'blocked' then coalesce(w.blocked_at, pgbaton._now())
                else w.blocked_at
            end
        where w.child_id = v_wait.child_id and w.level = 0 and w.no = v_wait.no;
        if v_edge.ordinal <> v_wait.ordinal then
            -- It may be ending just now, in a transaction that cannot see that it is watched.
            perform pgbaton._leave_parents(array[v_wait.queue_id], array[v_edge.parent_id]);
        end if;
    end if;
    return v_verdict;
end;
$$;
comment on function pgbaton._settle_group(bigint, integer) is
'Looks which edge of a group is the next to be watched. Returns open or blocked for one that is not settled, cancel,
free when the child waits for nothing any more (the caller lets it go), left when it waits for other groups, or busy
when somebody else is at it.';
