create or replace function pgbaton._add_edges_of(waits jsonb[], outcomes pgbaton.enqueue_outcome[])
returns void
language plpgsql volatile
as $$
declare
    v_own_ids constant bigint[] := array(select o.job_id from unnest(outcomes) as o where o.outcome = 'enqueued');
    v_ordinal integer;
begin
    for v_ordinal in
        select o.ordinal from unnest(outcomes) as o
        where o.outcome = 'enqueued' and waits[o.ordinal] is not null
        order by o.ordinal
    loop
        perform pgbaton._add_edges_of_job(waits[v_ordinal], v_ordinal, outcomes, v_own_ids);
    end loop;
end;
$$;
comment on function pgbaton._add_edges_of(jsonb[], pgbaton.enqueue_outcome[]) is
'Notes what jobs of enqueue_jobs wait for, none of which has ended since. Raises PB002, PB006 or 40001.';
