create or replace function pgbaton._register_dedup_ids(
    queue pgbaton.queue, dedup_ids text[], on_duplicates text[], row_nos bigint[] default null
)
returns boolean[]
language plpgsql volatile
as $$
declare
    v_new_ids text[];
    v_is_new boolean[];
    v_refused text;
begin
    perform pgbaton._check_dedup_id(
        d.dedup_id, coalesce(d.on_duplicate, 'skip'), coalesce(row_nos[d.ordinal], d.ordinal)
    )
    from unnest(dedup_ids, on_duplicates) with ordinality as d (dedup_id, on_duplicate, ordinal);
    -- Sorted, so that two producers with the same ids never wait for each other in a circle.
    with added as (
        insert into pgbaton.dedup (queue_id, dedup_id, job_id, created_at)
        select queue.id, d.dedup_id, 0, pgbaton._now()
        from (select distinct u.dedup_id from unnest(dedup_ids) as u (dedup_id) where u.dedup_id is not null) as d
        order by d.dedup_id
        on conflict on constraint dedup_pkey do nothing
        returning dedup_id
    )
    select array_agg(a.dedup_id) into v_new_ids from added as a;

    select
        array_agg(r.is_new order by r.ordinal),
        min(r.dedup_id) filter (where not r.is_new and r.on_duplicate = 'error')
    into v_is_new, v_refused
    from (
        select
            u.*, u.dedup_id is null or (
                u.dedup_id in (select n.dedup_id from unnest(v_new_ids) as n (dedup_id))
                and row_number() over (partition by u.dedup_id order by u.ordinal) = 1
            ) as is_new
        from unnest(dedup_ids, on_duplicates) with ordinality as u (dedup_id, on_duplicate, ordinal)
    ) as r;
    if v_refused is not null then
        raise exception using
            errcode = 'PB006',
            message = format('queue "%s" has a job with dedup_id "%s"', queue.name, v_refused),
            hint = 'Leave on_duplicate out to get the earlier job''s id as outcome "duplicate".';
    end if;
    return v_is_new;
end;
$$;
comment on function pgbaton._register_dedup_ids(pgbaton.queue, text[], text[], bigint[]) is
'Notes the producers'' ids of a batch and says which jobs are new; an id that stands twice counts once. The
caller fills in the job ids. Waits for open transactions that enqueue the same ids. Raises PB006 or 22023.';
