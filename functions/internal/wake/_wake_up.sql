create or replace function pgbaton._wake_up(worker_id text)
returns void
language plpgsql volatile
as $$
declare
    v_from constant bigint := pgbaton._sleepers_from();
begin
    if exists (select from pgbaton.sleeper as s where s.worker_id = _wake_up.worker_id and s.id >= v_from) then
        delete from pgbaton.sleeper as s
        where s.id = any (array(
            select o.id from pgbaton.sleeper as o
            where o.worker_id = _wake_up.worker_id and o.id >= v_from and o.role_name = pgbaton._actor()
            for update skip locked
        ));
    end if;
end;
$$;
comment on function pgbaton._wake_up(text) is 'Forgets that a worker sleeps: it has got jobs.';
