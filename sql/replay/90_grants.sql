-- What the folders of functions/ do not say. Workers keep the queue healthy, and roll over what was claimed.
grant execute on function pgbaton.recover_stale_jobs to pgbaton_worker;
grant select on pgbaton.live_jobs, pgbaton.finished_jobs, pgbaton.jobs, pgbaton.long_blocked_keys to pgbaton_monitor;
grant select, insert on pgbaton.enqueue_inbox to pgbaton_producer;
-- A trigger needs no EXECUTE of whoever fires it, and who has it may attach the function to a table of their own, whose
-- types and casts then run as the owner of the function. From everybody: somebody may have granted all functions.
do $$
declare
    v_granted record;
begin
    for v_granted in
        select distinct p.oid::regprocedure as function, g.grantee
        from pg_proc as p
        cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as g
        where p.pronamespace = 'pgbaton'::regnamespace and p.prorettype = 'trigger'::regtype and g.grantee <> p.proowner
    loop
        execute format(
            'revoke all on function %s from %s',
            v_granted.function, case when v_granted.grantee = 0 then 'public' else v_granted.grantee::regrole::text end
        );
    end loop;
end;
$$;
