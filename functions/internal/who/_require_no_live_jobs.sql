create or replace function pgbaton._require_no_live_jobs(queue pgbaton.queue, hint text)
returns void
language plpgsql volatile
as $$
declare
    v_live bigint;
begin
    select sum(s.hi - s.lo + 1) into v_live from pgbaton.span as s where s.queue_id = queue.id;
    if v_live > 0 then
        raise exception using
            errcode = 'PB008',
            message = format('queue "%s" has %s live jobs', queue.name, v_live),
            hint = hint;
    end if;
end;
$$;
comment on function pgbaton._require_no_live_jobs(pgbaton.queue, text) is
'Raises PB008 with that hint when jobs of the queue have not ended.';
