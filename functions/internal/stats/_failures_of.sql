create or replace function pgbaton._failures_of(failed jsonb)
returns jsonb
language plpgsql stable
as $$
declare
    v_is_narrowed constant boolean := pgbaton._is_narrowed('work');
begin
    return (
        select jsonb_object_agg(
            case when v_is_narrowed then split_part(f.name, ' "', 1) else f.name end,
            case when v_is_narrowed then f.failure ->> 'code'
                else format('%s: %s', f.failure ->> 'code', f.failure ->> 'message') end
        )
        from jsonb_each(failed) as f (name, failure)
    );
end;
$$;
comment on function pgbaton._failures_of(jsonb) is
'What failed, for the caller to read: names with SQLSTATE and message. A narrowed caller gets steps and SQLSTATEs alone,
since the rest may be of queues of others.';
