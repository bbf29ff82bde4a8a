create or replace function pgbaton._claimable_queues(queues text[])
returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_unknown text;
    v_allowed constant integer[] := case
        when exists (select from pgbaton.queue_grant) then pgbaton._allowed_queues('work')
    end;
begin
    if queues is null then
        return array(
            select q.id from pgbaton.queue as q
            where not q.is_paused and (v_allowed is null or q.id = any (v_allowed))
        );
    end if;
    if cardinality(queues) = 0 or array_position(queues, null) is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'queues is empty or holds a null',
            hint = 'Name the queues to work on, or pass null for all.';
    end if;
    select u.name into v_unknown
    from unnest(queues) as u (name)
    where not exists (select from pgbaton.queue as q where q.name = u.name)
    limit 1;
    if found then
        perform pgbaton._require_queue(v_unknown);
    end if;
    if v_allowed is not null then
        perform pgbaton._require_action(q, 'work') from pgbaton.queue as q where q.name = any (queues);
    end if;
    return array(select q.id from pgbaton.queue as q where q.name = any (queues) and not q.is_paused);
end;
$$;
comment on function pgbaton._claimable_queues(text[]) is
'Ids of those of the queues (null: all) that are not paused. Raises PB001 for an unknown one, PB009, 22023 for
an empty list or a null.';
