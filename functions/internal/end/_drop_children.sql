create or replace function pgbaton._drop_children(child_ids bigint[])
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._cancel(pgbaton._carve(child_ids, array['pending', 'waiting']::pgbaton.job_state[]));
    -- What somebody else has locked is forgotten when it is looked at next.
    delete from pgbaton.job_wait as w
    where (w.child_id, w.level, w.no) in (
        select n.child_id, n.level, n.no from pgbaton.job_wait as n
        where n.child_id = any (_drop_children.child_ids)
        for update skip locked
    );
end;
$$;
comment on function pgbaton._drop_children(bigint[]) is
'Cancels jobs, whose spans the caller has locked, since a job that they waited for did not complete.';
