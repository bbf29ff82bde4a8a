create or replace function pgbaton._lock_places(
    queue pgbaton.queue, singleton_keys text[], dedup_ids text[], on_duplicates text[]
)
returns void
language plpgsql volatile
as $$
begin
    -- Each by its id, whatever the statistics say.
    perform from (
        select distinct r.dedup_id from unnest(_lock_places.dedup_ids, on_duplicates) as r (dedup_id, on_duplicate)
        where r.dedup_id is not null and r.on_duplicate = 'replace'
        order by r.dedup_id
        offset 0
    ) as i
    cross join lateral (
        select d.job_id from pgbaton.dedup as d
        where d.queue_id = queue.id and d.dedup_id = i.dedup_id
        for no key update
    ) as k;
    if queue.policy <> 'standard' then
        perform pgbaton._lock_stripes(queue.id, singleton_keys);
    end if;
    if cardinality(on_duplicates) = 1 then
        return;  -- who replaces one job locks it when it takes it
    end if;
    perform pgbaton._lock_live(array(
        select k.job_id from unnest(_lock_places.dedup_ids) as i (dedup_id)
        cross join lateral (
            select d.job_id from pgbaton.dedup as d
            where d.queue_id = queue.id and d.dedup_id = i.dedup_id and d.job_id > 0
            offset 0
        ) as k
        union
        select pgbaton._queued_job(queue, k.singleton_key)
        from (select distinct unnest(singleton_keys)) as k (singleton_key)
    ), array['pending', 'waiting']::pgbaton.job_state[]);
end;
$$;
comment on function pgbaton._lock_places(pgbaton.queue, text[], text[], text[]) is
'Locks what jobs that replace others may find in their way, in the order in which all calls take their locks: dedup ids
that are known, keys, and the spans of jobs that nobody has claimed.';
