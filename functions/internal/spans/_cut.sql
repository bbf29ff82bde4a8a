create or replace function pgbaton._cut(span pgbaton.span, jobs bigint)
returns pgbaton.span
language plpgsql volatile
as $$
declare
    v_cut pgbaton.span := span;
begin
    update pgbaton.span as s
    set lo = s.lo + jobs, key_position = s.key_position + jobs
    where s.lo = _cut.span.lo and s.hi = _cut.span.hi;
    v_cut.position := span.position - (span.hi - span.lo + 1 - jobs);
    v_cut.hi := span.lo + jobs - 1;
    return v_cut;
end;
$$;
comment on function pgbaton._cut(pgbaton.span, bigint) is
'Splits the first jobs off a locked span. The rest stays; the caller puts the returned part where it belongs.';
