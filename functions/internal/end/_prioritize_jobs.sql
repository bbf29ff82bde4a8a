create or replace function pgbaton._prioritize_jobs(job_ids bigint[], priority integer)
returns bigint
language plpgsql volatile
as $$
declare
    v_name text;
    v_queue_id integer;
    v_queue pgbaton.queue;
    v_spans pgbaton.span[];
begin
    for v_name in
        select q.name from pgbaton.queue as q
        where q.id in (select (pgbaton._live_span(i.id)).queue_id from unnest(job_ids) as i (id))
        order by q.id
    loop
        perform pgbaton._enter_queue(v_name, 'operate');
    end loop;
    v_spans := pgbaton._carve(job_ids, array['pending', 'waiting', 'retry', 'unknown_retry']::pgbaton.job_state[]);
    for v_queue_id in
        select distinct s.queue_id from unnest(v_spans) as s order by s.queue_id
    loop
        select q.* into v_queue from pgbaton.queue as q where q.id = v_queue_id;
        perform pgbaton._give_priority(
            v_queue, array(select s::pgbaton.span from unnest(v_spans) as s where s.queue_id = v_queue_id), priority
        );
    end loop;
    return coalesce((select sum(s.hi - s.lo + 1) from unnest(v_spans) as s), 0);
end;
$$;
comment on function pgbaton._prioritize_jobs(bigint[], integer) is
'Gives those of these jobs that nobody has claimed another priority, as change_priority does, and returns how many.
Raises PB010.';
