create or replace function pgbaton._granted_ids(job_ids bigint[], action text)
returns bigint[]
language plpgsql stable
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues(action);
begin
    if v_allowed is null then
        return job_ids;
    end if;
    return array(
        select i.id from unnest(job_ids) as i (id)
        where exists (
            select from pgbaton.span as s
            where pgbaton._covers(s.lo, s.hi, i.id) and s.queue_id = any (v_allowed)
            offset 0
        ) or exists (
            select from pgbaton.job as j
            inner join pgbaton.lane as l on l.id = j.lane_id
            where j.id = i.id and l.queue_id = any (v_allowed)
            offset 0
        )
    );
end;
$$;
comment on function pgbaton._granted_ids(bigint[], text) is
'Those of the jobs whose queue lets the caller do that: all of them for a caller that no grant narrows.';
