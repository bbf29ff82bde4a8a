create or replace function pgbaton._opens_at(
    queue_id integer, singleton_key text, size integer, refill interval, at timestamptz
)
returns timestamptz
language plpgsql stable
as $$
begin
    return (
        select case
            when cardinality(w.starts) >= size
                then pgbaton._after(w.starts[cardinality(w.starts) - size + 1], refill)
        end
        from (
            select k.starts from pgbaton.key_start as k
            where k.queue_id = _opens_at.queue_id and k.singleton_key = _opens_at.singleton_key
            order by k.queue_id desc, k.singleton_key desc, k.version desc
            limit 1
        ) as n
        cross join lateral (
            select array(
                select u.at from unnest(n.starts) as u (at)
                -- One that is ahead: the clock was set back.
                where u.at <= _opens_at.at and pgbaton._after(u.at, refill) > _opens_at.at
                order by u.at
            ) as starts
        ) as w
    );
end;
$$;
comment on function pgbaton._opens_at(integer, text, integer, interval, timestamptz) is
'When the next job of a key may start, of which size jobs may in an interval of that length, if that is later than the
time given; else null.';
