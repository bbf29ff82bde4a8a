create or replace function pgbaton._is_full(queue_id integer, singleton_key text)
returns boolean
language plpgsql volatile
as $$
begin
    return (
        select count(*) from only pgbaton.span as s
        where s.queue_id = _is_full.queue_id and s.singleton_key = _is_full.singleton_key and s.slot < -100
    ) >= coalesce((
        select l.size from pgbaton.queue_limit as l where l.queue_id = _is_full.queue_id and l.kind = 'key'
    ), 1);
end;
$$;
comment on function pgbaton._is_full(integer, text) is
'Whether as many jobs of a key run without its baton as may run at all (key_limit): then nobody gets the baton until one
of them ends.';
