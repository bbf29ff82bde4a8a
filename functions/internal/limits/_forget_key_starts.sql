create or replace function pgbaton._forget_key_starts(names text[])
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.key_start as k
    where k.ctid = any (array(
        select o.ctid
        from unnest(names) as n (name)
        cross join lateral (
            select s.ctid from pgbaton.key_start as s
            where s.queue_id = split_part(n.name, ' ', 1)::integer
                and s.singleton_key = substr(n.name, strpos(n.name, ' ') + 1)
            for update skip locked
        ) as o
    ));
end;
$$;
comment on function pgbaton._forget_key_starts(text[]) is
'Forgets when jobs of these keys started, as _old_key_starts names them.';
