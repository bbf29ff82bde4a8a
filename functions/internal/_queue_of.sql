create or replace function pgbaton._queue_of(job_id bigint)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select q.name
        from pgbaton.job as j
        inner join pgbaton.lane as l on l.id = j.lane_id
        inner join pgbaton.queue as q on q.id = l.queue_id
        where j.id = _queue_of.job_id
    );
end;
$$;
comment on function pgbaton._queue_of(bigint) is 'Name of the queue of a job, null if there is no such job.';
