create or replace function pgbaton._has_grants()
returns boolean
language sql volatile
as $$ select pg_sequence_last_value('pgbaton.grant_seq') is not null and pgbaton._sees_grants() $$;
comment on function pgbaton._has_grants() is
'Whether any role is narrowed. Where there never was a grant that costs no look at a table. No search_path, so that it
inlines.';
