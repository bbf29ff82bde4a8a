create or replace function pgbaton._is_read_committed()
returns boolean
language sql stable
as $$ select current_setting('transaction_isolation') in ('read committed', 'read uncommitted') $$;
comment on function pgbaton._is_read_committed() is
'Whether a new statement sees what was committed meanwhile; read uncommitted, which Spark''s JDBC asks for, is
the same in PostgreSQL. No search_path, so that it inlines.';
