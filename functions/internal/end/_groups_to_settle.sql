create or replace function pgbaton._groups_to_settle(parent_id bigint, max_rows integer)
returns setof pgbaton.job_wait
language plpgsql volatile
as $$
declare
    v_verdict constant text := pgbaton._edge_verdict(parent_id, 'wait');
begin
    if v_verdict = 'open' then
        return;
    elsif v_verdict = 'settled' then
        return query
        select w.* from pgbaton.job_wait as w
        where w.parent_id = _groups_to_settle.parent_id
        order by w.child_id, w.no
        limit max_rows;
        return;
    end if;
    -- Also those that watch another one first: they are cancelled, or known to be blocked, at once.
    return query
    select w.* from pgbaton.job_edge as e
    inner join pgbaton.job_wait as w on w.child_id = e.child_id and w.level = 0 and w.no = e.ordinal / 16
    where e.parent_id = _groups_to_settle.parent_id and w.blocked_at is null
        and (w.parent_id = e.parent_id or w.on_failed <> 'run')
    order by w.child_id, w.no
    limit max_rows;
end;
$$;
comment on function pgbaton._groups_to_settle(bigint, integer) is
'The groups of edges that an ended job concerns, at most max_rows.';
