create or replace function pgbaton._parts_text(parts integer)
returns text
language sql immutable parallel safe
as $$
    select case parts
        when 0 then 'in one transaction'
        when 1 then 'in 1 partition'
        else format('in %s partitions', parts)
    end
$$;
comment on function pgbaton._parts_text(integer) is 'How a run comes, in words.';
