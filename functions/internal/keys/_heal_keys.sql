create or replace function pgbaton._heal_keys(names text[])
returns integer
language plpgsql volatile
as $$
begin
    perform pgbaton._release_keys(
        array_agg(split_part(n.name, ' ', 1)::integer), array_agg(substr(n.name, strpos(n.name, ' ') + 1))
    )
    from unnest(names) as n (name);
    return cardinality(names);
end;
$$;
comment on function pgbaton._heal_keys(text[]) is
'Leaves the keys that _keys_to_heal named to the next claim, and returns how many.';
