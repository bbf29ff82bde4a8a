create or replace function pgbaton._lanes_that_fit(filter jsonb, queue_ids integer[])
returns integer[]
language plpgsql stable
as $$
declare
    v_type constant text := filter ->> 'job_type';
    v_tags constant text[] := array(select jsonb_array_elements_text(nullif(filter -> 'tags', 'null')));
begin
    if v_type is null and cardinality(v_tags) = 0 then
        return null;
    end if;
    return array(
        select l.id from pgbaton.lane as l
        where (queue_ids is null or l.queue_id = any (queue_ids))
            and (v_type is null or l.job_type = v_type) and l.tags @> v_tags
    );
end;
$$;
comment on function pgbaton._lanes_that_fit(jsonb, integer[]) is
'Lanes of these queues with the type and the tags of a filter; null when it has neither. Reads the lanes.';
