create or replace function pgbaton.granted_queues(action text default 'monitor')
returns setof text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues(action);
begin
    return query
    select q.name from pgbaton.queue as q
    where v_allowed is null or q.id = any (v_allowed)
    order by q.name;
end;
$$;
comment on function pgbaton.granted_queues(text) is
'The queues on which the caller may enqueue, work, operate or monitor: all of them, unless grant_queue narrowed
one of its roles or, as long as it narrows anybody, the caller is no member of the role that this takes.
Raises 22023 for another action.';
