create or replace function pgbaton._free_keys(queue_id integer, singleton_keys text[])
returns text[]
language plpgsql volatile
as $$
declare
    v_sure text[] := '{}';
begin
    -- As in _lock_key: whether the others are busy cannot be told, so their jobs wait for the next claim.
    if pgbaton._is_read_committed() then
        v_sure := array(
            select k.singleton_key from unnest(singleton_keys) as k (singleton_key)
            where pg_try_advisory_xact_lock(
                pgbaton._lock_class() + 2, pgbaton._stripe(queue_id, k.singleton_key)
            )
        );
    end if;
    if cardinality(v_sure) < cardinality(singleton_keys) then
        perform pgbaton._release_keys(array_agg(queue_id), array_agg(u.singleton_key))
        from unnest(singleton_keys) as u (singleton_key)
        where u.singleton_key not in (select s.singleton_key from unnest(v_sure) as s (singleton_key));
    end if;
    return array(
        select s.singleton_key from unnest(v_sure) as s (singleton_key)
        where s.singleton_key not in (
            select b.singleton_key from unnest(pgbaton._busy_keys(queue_id, v_sure)) as b (singleton_key)
        )
    );
end;
$$;
comment on function pgbaton._free_keys(integer, text[]) is
'Which of these distinct keys have no live job, so that their next one gets the baton. Those of which that cannot
be told get a release row instead. Right only under the producers'' lock.';
