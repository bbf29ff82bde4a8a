create or replace function pgbaton._tidy_sleepers()
returns void
language plpgsql volatile
as $$
declare
    v_from constant bigint := pgbaton._sleepers_from();
    -- Before the snapshot of the next statement: see wait_for_jobs, which trusts that nobody raises the floor higher.
    v_last constant bigint := pg_sequence_last_value('pgbaton.sleeper_id_seq');
    v_first bigint;
    v_count bigint;
begin
    if not pgbaton._is_read_committed() then
        return;
    end if;
    select min(s.id), count(*) into v_first, v_count from pgbaton.sleeper as s where s.id >= v_from;
    if least(v_first, v_last - 64) > v_from then
        perform setval('pgbaton.sleeper_floor_seq', least(v_first, v_last - 64));
    end if;
    -- Far apart, most of what readers meet between them is dead.
    if v_last - v_first > 64 + 2 * v_count then
        update pgbaton.sleeper as s set id = nextval('pgbaton.sleeper_id_seq')
        where s.id = any (array(
            select o.id from pgbaton.sleeper as o
            where o.id between v_from and v_last
            order by o.id
            for update skip locked
        ));
    end if;
end;
$$;
comment on function pgbaton._tidy_sleepers() is
'Keeps the sleepers together, at the end of their numbers, so that nobody who looks for them meets many dead rows, also
under an old snapshot.';
