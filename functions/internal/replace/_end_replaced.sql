create or replace function pgbaton._end_replaced(spans pgbaton.span[], replaced_by bigint)
returns void
language plpgsql volatile
as $$
begin
    if cardinality(spans) = 0 then
        return;
    end if;
    insert into pgbaton.job_report (job_id, day, result)
    select s.lo, s.day, jsonb_build_object('replaced_by', replaced_by) from unnest(spans) as s;
    perform pgbaton._finish(spans, 'unscheduled', 'replaced');
end;
$$;
comment on function pgbaton._end_replaced(pgbaton.span[], bigint) is
'Ends jobs that were taken out and never claimed: they go to history as replaced, and their result names the job that
did so.';
