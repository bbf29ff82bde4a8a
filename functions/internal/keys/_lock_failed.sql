create or replace function pgbaton._lock_failed(job_ids bigint[], to_enqueue boolean)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_los bigint[];
begin
    v_los := array(
        select s.lo from only pgbaton.span as s
        where s.lo = any (job_ids) and s.state = 'failed'
        order by s.lo
        for update
    );
    perform pg_advisory_xact_lock(pgbaton._lock_class(), k.stripe)
    from (
        select distinct pgbaton._stripe(s.queue_id, s.singleton_key) as stripe
        from only pgbaton.span as s
        where s.lo = any (v_los) and s.state = 'failed' and (
            s.policy in ('stately', 'exclusive') or (s.key_position is not null and (s.held_key is null or to_enqueue))
        )
        order by 1
        offset 0
    ) as k;
    return array(
        select i.id from unnest(job_ids) with ordinality as i (id, ordinal)
        where i.id = any (v_los)
        order by i.ordinal
    );
end;
$$;
comment on function pgbaton._lock_failed(bigint[], boolean) is
'Locks what retry_job, or requeue_dead_job, takes one after the other for each of these jobs: first all of their spans,
then all of their keys, both sorted. Returns those that are failed still, in the given order.';
