create or replace function pgbaton._heal_keys()
returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count bigint;
begin
    if not pgbaton._is_read_committed() then
        return 0;
    end if;
    with recursive waiting as (
        -- A loose index scan: one step a key, however many jobs wait.
        (
            select s.queue_id, s.singleton_key from pgbaton.span as s
            where s.state = 'waiting'
            order by s.queue_id, s.singleton_key, s.key_position limit 1
        )
        union all
        select n.queue_id, n.singleton_key
        from waiting as w
        cross join lateral (
            select s.queue_id, s.singleton_key from pgbaton.span as s
            where s.state = 'waiting' and (s.queue_id, s.singleton_key) > (w.queue_id, w.singleton_key)
            order by s.queue_id, s.singleton_key, s.key_position limit 1
        ) as n
    )
    insert into pgbaton.baton_release (queue_id, singleton_key)
    select w.queue_id, w.singleton_key
    from waiting as w
    where not exists (
        select from pgbaton.span as s where s.queue_id = w.queue_id and s.held_key = w.singleton_key offset 0
    ) and not exists (
        select from pgbaton.baton_release as r
        where r.queue_id = w.queue_id and r.singleton_key = w.singleton_key offset 0
    )
    limit 1000;
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
comment on function pgbaton._heal_keys() is
'Finds keys that have waiting jobs, no holder and no baton_release row, which should not be, gives them such a row and returns how many.';
