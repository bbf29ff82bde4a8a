create or replace function pgbaton._is_read_committed()
returns boolean
language sql stable
as $$ select current_setting('transaction_isolation') = 'read committed' $$;
comment on function pgbaton._is_read_committed() is
'Whether a new statement sees what was committed meanwhile. No search_path, so that it inlines.';
