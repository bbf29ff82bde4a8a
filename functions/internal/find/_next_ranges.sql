create or replace function pgbaton._next_ranges(
    kind text, place pgbaton.search_place, bounds pgbaton.search_bounds, most integer, oldest_first boolean,
    filter jsonb, queue_ids integer[]
)
returns setof pgbaton.job_range
language plpgsql stable
as $$
declare
    v_states constant text[] := array(select jsonb_array_elements_text(nullif(filter -> 'states', 'null')));
    v_ended constant text[] := array['completed', 'stopped', 'unscheduled', 'unknown_stopped', 'given_up'];
    v_start constant bigint := case
        when oldest_first then greatest(place.id, bounds.first_id - 1) else least(place.id, bounds.last_id + 1)
    end;
begin
    if kind = 'ids' then
        return query select r.* from pgbaton._ranges_of(
            array(select i.id::bigint from jsonb_array_elements_text(filter -> 'ids') as i (id)), v_start, most,
            oldest_first
        ) as r;
    elsif kind = 'failed' then
        return query select r.* from pgbaton._ranges_failed(queue_ids, place.at, place.id, most, oldest_first) as r;
    elsif kind = 'leased' then
        return query select r.* from pgbaton._ranges_leased(v_start, most, oldest_first) as r;
    else
        return query select r.* from pgbaton._ranges_by_id(
            v_start, most, oldest_first, v_states = '{}' or not v_states <@ v_ended,
            v_states = '{}' or v_states && v_ended,
            bounds.first_day, bounds.last_day
        ) as r
        where (oldest_first or r.hi >= coalesce(bounds.first_id, 0))
            and (not oldest_first or r.lo <= coalesce(bounds.last_id, r.lo));
    end if;
end;
$$;
comment on function pgbaton._next_ranges(
    text, pgbaton.search_place, pgbaton.search_bounds, integer, boolean, jsonb, integer[]
) is
'What a search looks at next, at most so many ranges of jobs; fewer are the last ones.';
