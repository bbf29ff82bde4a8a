create or replace function pgbaton.drop_schedule(name text)
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pgbaton._require_all_queues('operate');
    delete from pgbaton.schedule as s where s.name = drop_schedule.name;
    if found then
        perform pgbaton._audit('drop_schedule', null, null, null, name);
        return true;
    end if;
    return false;
end;
$$;
comment on function pgbaton.drop_schedule(text) is
'Ends a schedule and says whether there was one; jobs that it enqueued stay.';
