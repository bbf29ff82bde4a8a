create or replace function pgbaton._is_full(queue_id integer, singleton_key text)
returns boolean
language plpgsql volatile
as $$
begin
    return exists (select from pgbaton._room_of_key(queue_id, singleton_key) as r (room) where r.room <= 0);
end;
$$;
comment on function pgbaton._is_full(integer, text) is
'Whether as many jobs of a key run without its baton as may run at all (key_limit): then nobody gets the baton until one
of them ends.';
