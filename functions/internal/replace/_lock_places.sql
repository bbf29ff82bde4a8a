create or replace function pgbaton._lock_places(
    queue pgbaton.queue, singleton_keys text[], dedup_ids text[], on_duplicates text[]
)
returns void
language plpgsql volatile
as $$
declare
    v_job_ids bigint[];
    v_spans pgbaton.span[];
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
    v_job_ids := array(
        select k.job_id from unnest(_lock_places.dedup_ids) as i (dedup_id)
        cross join lateral (
            select d.job_id from pgbaton.dedup as d
            where d.queue_id = queue.id and d.dedup_id = i.dedup_id and d.job_id > 0
            offset 0
        ) as k
        union
        select pgbaton._queued_job(queue, k.singleton_key)
        from (select distinct unnest(singleton_keys)) as k (singleton_key)
    );
    v_spans := array(
        select l::pgbaton.span from unnest(v_job_ids) as i (id) cross join lateral pgbaton._live_span(i.id) as l
    );
    perform from pgbaton.span as s
    -- By both ends: of ready_span the last one is indexed.
    where s.lo = any (array(select l.lo from unnest(v_spans) as l))
        and s.hi = any (array(select l.hi from unnest(v_spans) as l)) and s.state in ('pending', 'waiting')
    order by s.lo
    for update;
end;
$$;
comment on function pgbaton._lock_places(pgbaton.queue, text[], text[], text[]) is
'Locks what jobs that replace others may find in their way, in the order in which all calls take their locks: dedup ids
that are known, keys, and the spans of jobs that nobody has claimed.';
