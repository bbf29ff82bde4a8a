create or replace function pgbaton._let_go(child_ids bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_group record;
begin
    for v_group in
        select w.run_at, array_agg(distinct w.child_id) as child_ids
        from (
            select greatest(n.run_at, v_now) as run_at, n.child_id
            from pgbaton.job_wait as n
            where n.child_id = any (_let_go.child_ids)
        ) as w
        group by w.run_at
    loop
        perform pgbaton._reschedule(
            pgbaton._carve(v_group.child_ids, array['pending', 'waiting']::pgbaton.job_state[]), v_group.run_at
        );
    end loop;
    delete from pgbaton.job_wait as w where w.child_id = any (_let_go.child_ids);
end;
$$;
comment on function pgbaton._let_go(bigint[]) is
'Lets jobs go on that waited for jobs and whose spans the caller has locked: at their time, which is now if they have
none.';
