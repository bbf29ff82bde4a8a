create or replace function pgbaton.job_id_of(queue text, dedup_id text)
returns bigint
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_queue(queue);
begin
    perform pgbaton._require_action(v_queue, 'enqueue');
    return (
        select d.job_id from pgbaton.dedup as d
        where d.queue_id = v_queue.id and d.dedup_id = job_id_of.dedup_id
    );
end;
$$;
comment on function pgbaton.job_id_of(text, text) is
'The job that a producer enqueued under its own id; null if the queue does not know the id, or no longer. Raises PB001
or 22004.';
