create or replace function pgbaton._unused_dedup_ids(queue pgbaton.queue, dedup_ids text[])
returns boolean[]
language plpgsql volatile
as $$
begin
    return (
        select array_agg(u.dedup_id is null or (u.is_first and coalesce(d.job_id = 0, false)) order by u.ordinal)
        from (
            select w.*, row_number() over (partition by w.dedup_id order by w.ordinal) = 1 as is_first
            from unnest(dedup_ids) with ordinality as w (dedup_id, ordinal)
        ) as u
        -- Each by itself: joined, without statistics, all ids of the queue would be read.
        left join lateral (
            select o.job_id from pgbaton.dedup as o where o.queue_id = queue.id and o.dedup_id = u.dedup_id offset 0
        ) as d on true
    );
end;
$$;
comment on function pgbaton._unused_dedup_ids(pgbaton.queue, text[]) is
'Which rows are new, when _enter_chunks noted their dedup ids: the first of each id that no job has. A row without
an id is.';
