create or replace function pgbaton._enter_worker(worker_id text)
returns integer[]
language plpgsql volatile
as $$
declare
    v_allowed constant integer[] := case
        when pgbaton._has_grants() then pgbaton._allowed_queues('work')
    end;
begin
    if v_allowed = '{}' then
        perform pgbaton._require_some_queue('work');
    end if;
    perform pgbaton._check_worker_id(worker_id);
    return v_allowed;
end;
$$;
comment on function pgbaton._enter_worker(text) is
'To which queues grants narrow a worker, null for none. Raises PB009, 22004 or 22023.';
