create or replace function pgbaton._forget_runs(at timestamptz, names text[])
returns void
language plpgsql volatile
as $$
declare
    v_run record;
begin
    for v_run in
        select split_part(n.name, ' ', 1)::integer[] as queue_ids, substr(n.name, strpos(n.name, ' ') + 1) as run_id
        from unnest(names) as n (name)
    loop
        delete from pgbaton.enqueue_run as r where r.run_id = v_run.run_id and r.queue_ids = v_run.queue_ids;
        with forgotten as (
            delete from pgbaton.enqueue_ledger as l
            -- A part may have come since the run was named.
            where l.run_id = v_run.run_id and l.queue_ids = v_run.queue_ids and l.noted_at < at - interval '30 days'
            returning l.queue_id, l.part
        )
        delete from pgbaton.enqueue_range as n
        where n.run_id = v_run.run_id and (n.queue_id, n.part) in (select f.queue_id, f.part from forgotten as f);
    end loop;
end;
$$;
comment on function pgbaton._forget_runs(timestamptz, text[]) is
'Forgets runs of Spark, as _old_runs names them: sent again, they are enqueued again.';
