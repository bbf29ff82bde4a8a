create or replace function pgbaton.wake_ups()
returns bigint
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if pgbaton._allowed_queues('monitor') is not null then
        return null;
    end if;
    return coalesce(pg_sequence_last_value('pgbaton.wake_up_seq'), 0);
end;
$$;
comment on function pgbaton.wake_ups() is
'How many notifications were sent to sleeping workers so far, of all queues together; null for a caller whom grants
narrow. It is for a counter of a monitoring system, and never goes down. A call that makes jobs claimable counts one
for each worker that it notifies, also if the call is rolled back; PostgreSQL sends a worker one notification for all
calls of a transaction. On a standby, and after a crash, the count may be up to 32 too high.';
