create or replace function pgbaton._holder(queue_id integer, singleton_key text)
returns pgbaton.span
language plpgsql stable
as $$
declare
    v_span pgbaton.span;
begin
    select s.* into v_span from pgbaton.span as s
    where s.queue_id = _holder.queue_id and s.held_key = _holder.singleton_key and s.state <> 'pending';
    if not found then
        select s.* into v_span from pgbaton.span as s
        where s.queue_id = _holder.queue_id and s.held_key = _holder.singleton_key and s.state = 'pending';
    end if;
    return v_span;
end;
$$;
comment on function pgbaton._holder(integer, text) is 'The span that holds a key, nulls if none does.';
