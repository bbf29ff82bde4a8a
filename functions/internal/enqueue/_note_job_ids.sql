create or replace function pgbaton._note_job_ids(queue_id integer, dedup_ids text[], job_ids bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_ids text[];
    v_job_ids bigint[];
begin
    select array_agg(n.dedup_id order by n.dedup_id), array_agg(n.job_id order by n.dedup_id) into v_ids, v_job_ids
    from unnest(dedup_ids, job_ids) as n (dedup_id, job_id)
    where n.dedup_id is not null and n.job_id is not null;
    -- Not a join: without statistics it would read all ids of the queue.
    update pgbaton.dedup as d
    set job_id = v_job_ids[width_bucket(d.dedup_id, v_ids)]  -- its place, since they are in order
    where d.queue_id = _note_job_ids.queue_id and d.dedup_id = any (v_ids);
end;
$$;
comment on function pgbaton._note_job_ids(integer, text[], bigint[]) is
'Fills in which jobs ids of producers became. An id stands once; pairs with a null are left out.';
