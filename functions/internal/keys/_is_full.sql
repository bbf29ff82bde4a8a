create or replace function pgbaton._is_full(queue_id integer, singleton_key text)
returns boolean
language plpgsql volatile
as $$
begin
    return coalesce((
        select l.size <= (
            select count(*) from only pgbaton.span as s
            where s.queue_id = _is_full.queue_id and s.singleton_key = _is_full.singleton_key and s.slot < -100
        )
        from pgbaton.queue_limit as l where l.queue_id = _is_full.queue_id and l.kind = 'key'
    ), false);
end;
$$;
comment on function pgbaton._is_full(integer, text) is
'Whether as many jobs of a key run without its baton as may run at all (key_limit): then nobody gets the baton until one
of them ends.';
