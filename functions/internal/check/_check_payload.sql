create or replace function pgbaton._check_payload(
    payload jsonb, name text default 'payload', row_no bigint default null
)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if payload is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = name || ' is null',
            hint = concat('Pass a JSON value; leave it out for {}.', ' It is row ' || row_no || '.');
    end if;
    if not pgbaton._fits(payload) then
        raise exception using
            errcode = 'PB011',
            message = concat(name, ' ' || row_no) || case
                when pg_column_size(array[payload]) > 16777216
                    then format(' of %s bytes is above 16 MB', pg_column_size(array[payload]))
                when jsonb_path_exists(payload, '$.**{501}') then ' is nested deeper than 500 levels'
                else ' has a number of more than 4000 digits'
            end,
            hint = case
                when jsonb_path_exists(payload, '$.**{501}') or pg_column_size(array[payload]) > 16777216
                    then 'Store the data elsewhere and pass a reference to it.'
                else 'Pass such a number as a text: many JSON parsers cannot read it.'
            end;
    end if;
end;
$$;
comment on function pgbaton._check_payload(jsonb, text, bigint) is
'Raises 22004 for null, PB011 above 16 MB, 500 levels of nesting or 4,000 digits of a number, which many clients could
not read any more. name: what the message calls it; row_no: of a list, which.';
