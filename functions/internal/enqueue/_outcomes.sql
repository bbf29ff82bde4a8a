create or replace function pgbaton._outcomes(
    queue pgbaton.queue, dedup_ids text[], is_new boolean[], new_ids bigint[]
)
returns setof pgbaton.enqueue_outcome
language plpgsql volatile
as $$
begin
    -- The n-th new job got the n-th new id.
    perform pgbaton._note_job_ids(
        queue.id,
        array(
            select w.dedup_id from unnest(dedup_ids, is_new) with ordinality as w (dedup_id, is_new, ordinal)
            where w.is_new
            order by w.ordinal
        ),
        new_ids
    );

    -- What the policy refused may come again under its id. Not by job_id = 0: each new id has left a dead entry there.
    delete from pgbaton.dedup as d where d.queue_id = queue.id and d.job_id + 0 = 0 and d.dedup_id = any (dedup_ids);

    return query
    select
        u.ordinal::integer,
        coalesce(i.job_id, (
            select d.job_id from pgbaton.dedup as d where d.queue_id = queue.id and d.dedup_id = u.dedup_id
        )),
        case
            when not u.is_new then 'duplicate'
            when i.job_id is null then format('rejected: the policy %s allows no further job of this key', queue.policy)
            else 'enqueued'
        end
    from (
        select w.*, case when w.is_new then count(*) filter (where w.is_new) over (order by w.ordinal) end as nth
        from unnest(dedup_ids, is_new) with ordinality as w (dedup_id, is_new, ordinal)
    ) as u
    left join unnest(new_ids) with ordinality as i (job_id, nth) on i.nth = u.nth
    order by u.ordinal;
end;
$$;
comment on function pgbaton._outcomes(pgbaton.queue, text[], boolean[], bigint[]) is
'Fills in the job ids of new dedup ids and returns one outcome for each job of enqueue_jobs in input order.';
