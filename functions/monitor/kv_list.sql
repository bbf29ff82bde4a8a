create or replace function pgbaton.kv_list(prefix text[])
returns setof pgbaton.kv_entry
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pgbaton._require_all_queues('monitor');
    if prefix is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'prefix is null',
            hint = 'Pass the first parts of the paths, ''{}'' for all.';
    end if;
    return query
    select k.key, k.value, k.updated_at from pgbaton.kv as k
    where k.key >= prefix and k.key[1:cardinality(prefix)] = prefix
    order by k.key;
end;
$$;
comment on function pgbaton.kv_list(text[]) is
'What is stored under key paths that begin with these parts, by path; {} lists all. Raises 22004.';
