create or replace function pgbaton._lie_down(sleeper pgbaton.sleeper)
returns void
language plpgsql volatile
as $$
declare
    v_old_id constant bigint := sleeper.id;
    v_from constant bigint := pgbaton._sleepers_from();
begin
    sleeper.id := nextval('pgbaton.sleeper_id_seq');
    -- The row as it was counts until this is committed. Somebody who notifies it may hold it: nobody is waited for.
    update pgbaton.sleeper as s
    set id = sleeper.id, asleep_until = sleeper.asleep_until, registered_by = sleeper.registered_by,
        seen_from = sleeper.seen_from, is_settled = sleeper.is_settled
    where s.id = any (array(select o.id from pgbaton.sleeper as o where o.id = v_old_id for update skip locked));
    if not found then
        delete from pgbaton.sleeper as s
        where s.id = any (array(
            select o.id from pgbaton.sleeper as o
            where o.worker_id = sleeper.worker_id and o.role_name = sleeper.role_name and o.id >= v_from
            for update skip locked
        ));
        sleeper.registered_by := pg_current_xact_id();
        sleeper.seen_from := null;
        sleeper.is_settled := false;
        insert into pgbaton.sleeper values (sleeper.*);
    end if;
    if sleeper.id % 16 = 0 then
        perform pgbaton._tidy_sleepers();
        delete from pgbaton.sleeper as s
        where s.id = any (array(select g.id::bigint from unnest(pgbaton._gone_sleepers()) as g (id)));
    end if;
end;
$$;
comment on function pgbaton._lie_down(pgbaton.sleeper) is
'Registers a worker, or has it sleep on: its row with what has changed, under a new number. When the row is gone
meanwhile it is registered anew.';
