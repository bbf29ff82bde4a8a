create or replace function pgbaton._busy_keys(queue_id integer, singleton_keys text[])
returns text[]
language plpgsql volatile
as $$
begin
    return array(
        select k.singleton_key
        from (select distinct u.singleton_key from unnest(singleton_keys) as u (singleton_key)) as k
        -- Backwards: under an old snapshot the dead entries of finished jobs stand in front.
        where exists (
            select from only pgbaton.span as s
            where s.queue_id = _busy_keys.queue_id and s.singleton_key = k.singleton_key
                and s.state = 'waiting'
            order by s.queue_id desc, s.singleton_key desc, s.key_position desc
            limit 1 offset 0
        ) or exists (
            select from only pgbaton.span as s
            where s.queue_id = _busy_keys.queue_id and s.singleton_key = k.singleton_key
                and s.slot is not null and s.held_key is not null
            offset 0
        ) or (
            (select q.is_limited from pgbaton.queue as q where q.id = _busy_keys.queue_id)
            and pgbaton._stays_full(_busy_keys.queue_id, k.singleton_key)
        )
    );
end;
$$;
comment on function pgbaton._busy_keys(integer, text[]) is
'Which of these keys have a live job, or as many as may run. Right only under the producers'' lock, in a statement
after the one that took it.';
