create or replace function pgbaton._xid_of(short xid, next_xid bigint)
returns bigint
language sql immutable parallel safe
as $$ select next_xid - ((next_xid - short::text::bigint) & 4294967295) $$;
comment on function pgbaton._xid_of(xid, bigint) is
'The xmin of a row with its epoch: the latest transaction up to next_xid that has these 32 bits. A row that is
more than 2^32 transactions old seems younger than it is. No search_path, so that it inlines.';
