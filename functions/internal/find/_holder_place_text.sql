create or replace function pgbaton._holder_place_text(place pgbaton.blocked_place)
returns text
language sql stable parallel safe
as $$
    select case when place.lo is not null then format(
        '%s/%s/%s/%s/%s', place.state, pgbaton._micros(place.at), place.queue_id, pgbaton._micros(place.changed_at),
        place.lo
    ) end
$$;
comment on function pgbaton._holder_place_text(pgbaton.blocked_place) is
'A place of a search for blocked keys as _holder_place reads it; null for none. No search_path, so that it inlines.';
