create or replace function pgbaton._forget_dedup_ids(at timestamptz, names text[])
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.dedup as d
    where d.ctid = any (array(
        select o.ctid
        from unnest(names) as n (name)
        cross join lateral (
            select q.id, pgbaton._after(at, -q.retention) as since from pgbaton.queue as q
            where q.name = substr(n.name, strpos(n.name, ' ') + 1)
            offset 0
        ) as q
        cross join lateral (
            select d.ctid from pgbaton.dedup as d
            where d.queue_id = q.id and d.job_id = split_part(n.name, ' ', 1)::bigint and d.created_at < q.since
            offset 0
        ) as o
    ));
end;
$$;
comment on function pgbaton._forget_dedup_ids(timestamptz, text[]) is
'Forgets producers'' ids of these jobs, as _old_dedup_ids names them.';
