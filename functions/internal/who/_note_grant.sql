create or replace function pgbaton._note_grant()
returns trigger
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform nextval('pgbaton.grant_seq');
    return null;
end;
$$;
comment on function pgbaton._note_grant() is
'Trigger of queue_grant, also where its rows are restored or replicated: from then on calls look for grants.';
