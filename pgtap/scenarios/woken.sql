-- Records whom the calls of this transaction would notify, as names of workers. \ir this after lib/fixtures.sql.
create table tap.notified (channel text);
create function tap.note(channel text, payload text) returns void
language sql security definer as $$ insert into tap.notified values (channel) $$;
-- The only place that notifies keeps its query, and calls note() instead.
do $$
declare
    v_wake constant text := pg_get_functiondef('pgbaton._wake'::regproc);
begin
    if v_wake !~ 'pg_notify\(' then
        raise exception '_wake does not notify';
    end if;
    execute replace(v_wake, 'pg_notify(', 'tap.note(');
end;
$$;
-- The workers that were notified since the last look, as often as they were.
create function tap.woken() returns text[]
language plpgsql as $$
declare
    v_woken text[];
begin
    with gone as (delete from tap.notified returning channel)
    select coalesce(array_agg(coalesce(s.worker_id, g.channel) order by s.worker_id), '{}') into v_woken
    from gone as g
    left join pgbaton.sleeper as s on s.channel = g.channel;
    return v_woken;
end;
$$;
