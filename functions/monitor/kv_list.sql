create or replace function pgbaton.kv_list(prefix text[])
returns setof pgbaton.kv_entry
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('monitor');
begin
    if prefix is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'prefix is null',
            hint = 'Pass the first parts of the paths, ''{}'' for all.';
    end if;
    perform pgbaton._check_flat('prefix', array_ndims(prefix));
    return query
    select distinct on (k.key) k.key, k.value, k.updated_at from pgbaton.kv as k
    -- All paths with this beginning: null is larger than any other part.
    where k.key >= prefix[:] and k.key < array_append(prefix[:], null)
        and (v_allowed is null or k.queue_id = any (v_allowed))
    order by k.key, k.updated_at desc, k.queue_id desc;
end;
$$;
comment on function pgbaton.kv_list(text[]) is
'What is stored under key paths that begin with these parts, by path; {} lists all. For each path it is the latest
value of the queues that the caller may monitor. Raises 22004 or 2202E.';
