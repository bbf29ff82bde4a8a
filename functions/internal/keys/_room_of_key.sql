create or replace function pgbaton._room_of_key(queue_id integer, singleton_key text)
returns setof bigint
language sql stable
as $$
    select l.size - (
        select pg_catalog.count(*) from only pgbaton.span as s
        where s.queue_id = $1 and s.singleton_key = $2 and s.slot < -100
    )
    from pgbaton.queue_limit as l
    where l.queue_id = $1 and l.kind = 'key'
$$;
comment on function pgbaton._room_of_key(integer, text) is
'How many more jobs of a key may run without its baton (key_limit); no row where nothing limits them. No search_path, so
that it inlines.';
