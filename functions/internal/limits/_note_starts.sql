create or replace function pgbaton._note_starts(spans pgbaton.span[], at timestamptz, limited_ids integer[])
returns void
language plpgsql volatile
as $$
begin
    if not exists (
        select from pgbaton.queue_limit as l where l.queue_id = any (limited_ids) and l.kind = 'key_rate'
    ) then
        return;
    end if;
    with started as materialized (
        select s.queue_id, s.singleton_key, l.size, l.refill, k.starts, k.ctid as old
        from unnest(spans) as s
        cross join lateral (
            select q.size, q.refill from pgbaton.queue_limit as q
            where q.queue_id = s.queue_id and q.kind = 'key_rate'
            offset 0
        ) as l
        left join lateral (
            select n.starts, n.ctid from pgbaton.key_start as n
            where n.queue_id = s.queue_id and n.singleton_key = s.singleton_key
            order by n.queue_id desc, n.singleton_key desc, n.version desc
            limit 1
        ) as k on true
        where s.singleton_key <> ''
    ), replaced as (
        -- Maintenance may be about to remove one whose interval is over.
        delete from pgbaton.key_start as k
        where k.ctid = any (array(
            select o.ctid from pgbaton.key_start as o
            where o.ctid = any (array(select s.old from started as s))
            for update skip locked
        ))
    )
    insert into pgbaton.key_start (queue_id, singleton_key, version, last_at, starts)
    select
        s.queue_id, s.singleton_key, nextval('pgbaton.permit_seq'), _note_starts.at,
        array(
            select u.at from (
                select o.at from unnest(s.starts) as o (at)
                where o.at <= _note_starts.at and pgbaton._after(o.at, s.refill) > _note_starts.at
                order by o.at desc
                limit s.size - 1
            ) as u
            order by u.at
        ) || _note_starts.at
    from started as s;
end;
$$;
comment on function pgbaton._note_starts(pgbaton.span[], timestamptz, integer[]) is
'Notes that a claim starts these spans at that time, for the keys whose queues have a rate of each key.';
