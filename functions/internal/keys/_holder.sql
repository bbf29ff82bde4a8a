create or replace function pgbaton._holder(queue_id integer, singleton_key text)
returns pgbaton.span
language plpgsql stable
as $$
declare
    v_span pgbaton.span;
begin
    select s.* into v_span from only pgbaton.span as s
    where s.queue_id = _holder.queue_id and s.singleton_key = _holder.singleton_key
        and s.slot is not null and s.held_key is not null;
    return v_span;
end;
$$;
comment on function pgbaton._holder(integer, text) is 'The span that holds a key, nulls if none does.';
