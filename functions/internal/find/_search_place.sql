create or replace function pgbaton._search_place(kind text, after text, oldest_first boolean)
returns pgbaton.search_place
language plpgsql stable
as $$
declare
    v_parts constant text[] := string_to_array(after, '/');
    v_place pgbaton.search_place;
begin
    if after is null then
        v_place.at := case when oldest_first then timestamptz '-infinity' else timestamptz 'infinity' end;
        v_place.id := case when oldest_first then 0 else 9223372036854775807 end;
    elsif kind = 'failed' and after ~ '^-?[0-9]{1,18}/[0-9]{1,18}$' then
        v_place.at := pgbaton._since(v_parts[1]::bigint);
        v_place.id := v_parts[2]::bigint;
    elsif kind <> 'failed' and after ~ '^[0-9]{1,18}$' then
        v_place.id := after::bigint;
    else
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('after is %L', after),
            hint = 'Pass the next_after of the call before, with the same filter.';
    end if;
    return v_place;
end;
$$;
comment on function pgbaton._search_place(text, text, boolean) is
'Where a search goes on: as _find_jobs wrote it, or at its beginning. Raises 22023.';
