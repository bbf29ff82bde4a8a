create or replace function pgbaton._gone_sleepers()
returns text[]
language plpgsql volatile
as $$
declare
    v_from constant bigint := pgbaton._sleepers_from();
begin
    if not pgbaton._is_read_committed() then
        return '{}';
    end if;
    return array(
        select o.id::text from pgbaton.sleeper as o
        where o.id >= v_from and o.asleep_until < pgbaton._now() - interval '1 minute'
        for update skip locked
    );
end;
$$;
comment on function pgbaton._gone_sleepers() is
'The sleepers of workers that died: they have not come back for a minute.';
