create or replace function pgbaton._forget_runs(run_ids text[])
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.enqueue_run as r where r.run_id = any (run_ids);
    delete from pgbaton.enqueue_range as n where n.run_id = any (run_ids);
    delete from pgbaton.enqueue_ledger as l where l.run_id = any (run_ids);
end;
$$;
comment on function pgbaton._forget_runs(text[]) is
'Forgets runs of Spark, as _old_runs names them: sent again, they are enqueued again.';
