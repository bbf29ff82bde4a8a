-- Records whom the calls of this transaction would notify, as names of workers. \ir this after lib/fixtures.sql.
create table tap.notified (worker_id text, sleeper pgbaton.sleeper);
create function tap.note(channel text, payload text) returns void
language sql security definer as $$
    insert into tap.notified select s.worker_id, s from pgbaton.sleeper as s where s.channel = note.channel
$$;
-- The only place that notifies keeps its query, and calls note() instead.
do $$
declare
    v_notify constant text := pg_get_functiondef('pgbaton._notify'::regproc);
begin
    if v_notify !~ 'pg_notify\(' then
        raise exception '_notify does not notify';
    end if;
    execute replace(v_notify, 'pg_notify(', 'tap.note(');
end;
$$;
-- The workers that were notified since the last look. They have come, found nothing and sleep again.
create function tap.woken() returns text[]
language plpgsql as $$
declare
    v_woken text[];
begin
    select coalesce(array_agg(n.worker_id order by n.worker_id), '{}') into v_woken from tap.notified as n;
    insert into pgbaton.sleeper select (n.sleeper).* from tap.notified as n
    where not exists (select from pgbaton.sleeper as s where s.worker_id = n.worker_id);
    delete from tap.notified;
    return v_woken;
end;
$$;
