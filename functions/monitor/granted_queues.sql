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
'The queues on which the caller may enqueue, work, operate or monitor. These are all queues, unless grant_queue
narrowed one of the caller''s roles or, as long as it narrows anybody, the caller is not a member of the role that the
action needs.
Raises 22023 for another action.';
