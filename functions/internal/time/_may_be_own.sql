create or replace function pgbaton._may_be_own(short xid)
returns boolean
language sql stable
as $$
    -- The ids of savepoints are later than that of their transaction.
    select coalesce(
        (short::text::bigint - pg_current_xact_id_if_assigned()::text::bigint) & 4294967295 < 2147483648, false
    )
$$;
comment on function pgbaton._may_be_own(xid) is
'Whether a row with this xmin may have been written by this transaction; what it did not write, and sees under an older
snapshot, is older. No search_path, so that it inlines.';
