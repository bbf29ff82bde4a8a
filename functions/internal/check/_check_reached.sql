create or replace function pgbaton._check_reached(after jsonb, until jsonb)
returns void
language plpgsql stable
as $$
begin
    if (until ->> 'xid')::bigint > greatest(
        (after ->> 'xid')::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    ) then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('until is %s, and this transaction does not see all that ended before', until),
            hint = 'It began earlier, or reads from a replica that is behind: read again in a new transaction.';
    end if;
end;
$$;
comment on function pgbaton._check_reached(jsonb, jsonb) is
'Raises 55000 when jobs between two offsets of ended_jobs_offset are not visible here yet: the caller would take
them for read.';
