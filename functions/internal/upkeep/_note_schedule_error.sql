create or replace function pgbaton._note_schedule_error(failure jsonb)
returns void
language plpgsql volatile
as $$
begin
    update pgbaton.schedule as s set last_error = failure ->> 'message' where s.name = failure ->> 'name';
end;
$$;
comment on function pgbaton._note_schedule_error(jsonb) is
'Keeps why a schedule could not be run, under its name; it stays due.';
