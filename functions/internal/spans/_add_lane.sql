create or replace function pgbaton._add_lane(
    queue pgbaton.queue, priority integer, job_type text, tags text[]
)
returns integer
language plpgsql volatile
as $$
declare
    v_lane_id integer;
begin
    if priority is null or job_type is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'priority or job_type is null',
            hint = 'Leave them out for the defaults, 100 and ''''.';
    end if;
    perform pgbaton._check_labels(job_type, tags);
    -- Labels, not lanes: several transactions may have made one for the same.
    if (
        select count(distinct (l.priority, l.job_type, l.tags)) from pgbaton.lane as l where l.queue_id = queue.id
    ) >= queue.max_lanes then
        raise exception using
            errcode = 'PB010',
            message = format('queue "%s" has its maximum of %s lanes', queue.name, queue.max_lanes),
            hint = 'Priority, job_type and tags are routing labels: put what differs for each job in the payload, '
                'or raise max_lanes.';
    end if;

    insert into pgbaton.lane (queue_id, priority, job_type, tags)
    values (queue.id, priority, job_type, tags)
    returning id into v_lane_id;
    return v_lane_id;
end;
$$;
comment on function pgbaton._add_lane(pgbaton.queue, integer, text, text[]) is
'Makes a lane. Raises 22004, 22023 or PB010.';
