create or replace function pgbaton._lane_id(
    queue pgbaton.queue, priority integer, job_type text, tags text[]
)
returns integer
language plpgsql volatile
as $$
declare
    v_tags constant text[] := case when tags = '{}' then tags else pgbaton._normal_tags(tags) end;
    v_lane_id integer;
begin
    select l.id into v_lane_id
    from pgbaton.lane as l
    where l.queue_id = queue.id and l.priority = _lane_id.priority
        and l.job_type = _lane_id.job_type and l.tags = v_tags
    order by l.id
    limit 1;
    if found then
        return v_lane_id;
    end if;
    return pgbaton._add_lane(queue, priority, job_type, v_tags);
end;
$$;
comment on function pgbaton._lane_id(pgbaton.queue, integer, text, text[]) is
'The first lane of these labels, made if it is new. Raises 22004, 22023 or PB010.';
