create or replace function pgbaton._name_of_row(step text, name text)
returns text
language sql stable parallel safe
as $$ select format('%s "%s"', step, left(name, 200)) $$;
comment on function pgbaton._name_of_row(text, text) is
'What health() calls a row that the upkeep could not handle.';
