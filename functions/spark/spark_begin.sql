create or replace function pgbaton.spark_begin(run_id text, parts integer, fingerprint text default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pgbaton._require_some_queue('enqueue');
    perform pgbaton._check_run_id(run_id);
    if parts is null or parts < 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('parts is %s', coalesce(parts::text, 'null')),
            hint = 'Say in how many partitions the run comes, at least 1.';
    end if;
    perform pgbaton._begin_run(run_id, parts, fingerprint);
end;
$$;
comment on function pgbaton.spark_begin(text, integer, text) is
'Says beforehand in how many partitions a run comes through the view enqueue_inbox. Optional: without it, the first
partition of a run holds up the others until it ends. Commit it at once.

A run belongs to the callers whom grants narrow to the same queues: others may have a run of that name, and all callers
who are not narrowed share theirs. What a run has enqueued counts queue by queue.
fingerprint: text that differs when the data does; null is not compared.
Raises PB009, PB013 when something of the run is enqueued and it had other partitions or data, 22004 or 22023.';
