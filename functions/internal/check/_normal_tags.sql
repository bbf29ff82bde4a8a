create or replace function pgbaton._normal_tags(tags text[])
returns text[]
language plpgsql immutable parallel safe
as $$
begin
    if cardinality(tags) = 0 then
        return tags;
    end if;
    if array_ndims(tags) > 1 then
        perform pgbaton._check_flat('tags', array_ndims(tags));
    end if;
    if tags is null or array_position(tags, null) is not null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'tags is null or holds a null',
            hint = 'Pass an array of labels, ''{}'' for none.';
    end if;
    if exists (select from unnest(tags) as t (tag) where t.tag = '' or octet_length(t.tag) > 255) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                'tag %s is empty or longer than 255 bytes', (
                    select min(t.ordinal) from unnest(tags) with ordinality as t (tag, ordinal)
                    where t.tag = '' or octet_length(t.tag) > 255
                )
            ),
            hint = 'Tags are short routing labels; put data in the payload.';
    end if;
    return array(select distinct t.tag collate "C" as tag from unnest(tags) as t (tag) order by tag);
end;
$$;
comment on function pgbaton._normal_tags(text[]) is
'Tags as a set: sorted, without repetitions. Raises 22004 for a null, 2202E for several dimensions, 22023 for an empty
tag or one above 255 bytes.';
