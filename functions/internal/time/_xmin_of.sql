create or replace function pgbaton._xmin_of(short xid)
returns xid8
language sql stable
as $$ select pgbaton._xid_of(short, pgbaton._next_xid())::text::xid8 $$;
comment on function pgbaton._xmin_of(xid) is
'The transaction that wrote a row, from its xmin. No search_path, so that it inlines.';
