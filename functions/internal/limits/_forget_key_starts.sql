create or replace function pgbaton._forget_key_starts(at timestamptz, names text[])
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.key_start as k
    where k.ctid = any (array(
        select o.ctid
        from unnest(names) as n (name)
        cross join lateral (
            select q.queue_id, pgbaton._after(at, -q.refill) as since from pgbaton.queue_limit as q
            where q.queue_id = split_part(n.name, ' ', 1)::integer and q.kind = 'key_rate'
            offset 0
        ) as l
        cross join lateral (
            -- The key may have a newer row, of a claim that could not remove the old one.
            select s.ctid from pgbaton.key_start as s
            where s.queue_id = l.queue_id and s.singleton_key = substr(n.name, strpos(n.name, ' ') + 1)
                and s.last_at <= l.since
            for update skip locked
        ) as o
    ));
end;
$$;
comment on function pgbaton._forget_key_starts(timestamptz, text[]) is
'Forgets when jobs of these keys started, as _old_key_starts names them, if that was an interval of their rate ago.';
