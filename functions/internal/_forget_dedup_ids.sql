create or replace function pgbaton._forget_dedup_ids(at timestamptz)
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.dedup as d
    where d.ctid = any (array(
        select o.ctid
        from pgbaton.dedup as o
        inner join pgbaton.queue as q on q.id = o.queue_id
        where o.created_at < pgbaton._after(at, -q.retention)
        limit 10000
        for update of o skip locked
    ));
end;
$$;
comment on function pgbaton._forget_dedup_ids(timestamptz) is
'Forgets producers'' ids after the retention of their queue; at most 10000 a call.';
