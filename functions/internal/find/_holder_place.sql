create or replace function pgbaton._holder_place(after text)
returns pgbaton.blocked_place
language plpgsql stable
as $$
declare
    v_parts constant text[] := string_to_array(after, '/');
begin
    if after is null or after = 'retry' then
        return row(
            coalesce(after, 'failed'), timestamptz '-infinity', 0, timestamptz '-infinity', 0::bigint, null::text
        );
    elsif after !~ '^(failed|retry)/-?[0-9]{1,18}/[0-9]{1,9}/(-?[0-9]{1,18})?/[0-9]{1,18}$' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('after is %L', after),
            hint = 'Pass the next_after of the call before, with the same queue and key_part.';
    end if;
    return row(
        v_parts[1], pgbaton._since(v_parts[2]::bigint), v_parts[3]::integer,
        pgbaton._since(nullif(v_parts[4], '')::bigint), v_parts[5]::bigint, null::text
    );
end;
$$;
comment on function pgbaton._holder_place(text) is
'Where a search for blocked keys goes on: as _holder_place_text wrote it, or at its beginning. Raises 22023.';
