create or replace function pgbaton._old_dedup_ids(at timestamptz)
returns text[]
language plpgsql volatile
as $$
declare
    v_queue record;
    v_after bigint;
    v_page record;
    v_missing integer := 10000;
    v_names text[] := '{}';
begin
    for v_queue in
        select q.id, q.name, pgbaton._after(at, -q.retention) as since from pgbaton.queue as q order by q.id
    loop
        -- The lowest job ids are about the oldest: on as long as half of a page may go.
        v_after := -1;
        loop
            select max(d.job_id) as last, count(*) filter (where d.created_at < v_queue.since) as old into v_page
            from (
                select n.job_id, n.created_at from pgbaton.dedup as n
                where n.queue_id = v_queue.id and n.job_id > v_after
                order by n.queue_id, n.job_id
                limit 200
            ) as d;
            if v_page.old > 0 then
                v_names := v_names || array(
                    select format('%s %s', o.job_id, v_queue.name) from pgbaton.dedup as o
                    where o.queue_id = v_queue.id and o.job_id > v_after and o.job_id <= v_page.last
                        and o.created_at < v_queue.since
                    for update skip locked
                );
            end if;
            v_missing := v_missing - v_page.old;
            exit when v_page.old < 100 or v_missing <= 0;
            v_after := v_page.last;
        end loop;
        exit when v_missing <= 0;
    end loop;
    return v_names;
end;
$$;
comment on function pgbaton._old_dedup_ids(timestamptz) is
'Jobs whose producer''s id may be forgotten after the retention of their queue, each with its queue, about 10000. Of a
queue with nothing to forget it reads the 200 with the lowest job ids.';
