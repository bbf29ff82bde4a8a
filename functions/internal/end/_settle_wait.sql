create or replace function pgbaton._settle_wait(wait pgbaton.job_wait)
returns text
language plpgsql volatile
as $$
declare
    v_level integer := 0;
    v_no integer := wait.no;
    v_width bigint := 16;  -- edges of a group of the level
begin
    while v_width < wait.edges loop
        -- Two groups that are settled side by side meet here: who finds the lock taken leaves it to the next claim.
        perform from pgbaton.job_wait as w
        where w.child_id = wait.child_id and w.level = v_level + 1 and w.no = v_no / 16
        for update skip locked;
        if not found then
            return 'busy';
        end if;
        -- Written, so that who cannot see under its snapshot that this group is settled fails to lock it.
        update pgbaton.job_wait as w set edges = w.edges
        where w.child_id = wait.child_id and w.level = v_level + 1 and w.no = v_no / 16;
        -- A new statement: it sees what was committed before we got the lock.
        if exists (
            select from pgbaton.job_wait as w
            where w.child_id = wait.child_id and w.level = v_level
                and w.no between v_no / 16 * 16 and v_no / 16 * 16 + 15
                and w.no <> v_no
        ) then
            delete from pgbaton.job_wait as w
            where w.child_id = wait.child_id and w.level <= v_level and w.no = wait.no >> (4 * w.level);
            return 'left';
        end if;
        v_level := v_level + 1;
        v_no := v_no / 16;
        v_width := v_width * 16;
    end loop;
    return 'free';
end;
$$;
comment on function pgbaton._settle_wait(pgbaton.job_wait) is
'A group of edges, which the caller has locked, is settled: what that means to the child, as _settle_group returns it.';
