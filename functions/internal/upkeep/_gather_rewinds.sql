create or replace function pgbaton._gather_rewinds(proven xid8)
returns void
language plpgsql volatile
as $$
declare
    v_proven_from constant bigint := pgbaton._released_from(proven);
    v_to constant bigint := greatest(
        pgbaton._released_from(), pg_sequence_last_value('pgbaton.baton_release_id_seq') - 64
    );
begin
    with gathered as (
        delete from pgbaton.rewind as r
        where r.id = any (array(
            select o.id from pgbaton.rewind as o
            where o.id >= v_proven_from and o.id < v_to
            order by o.id
            limit 1000
            for update skip locked
        ))
        returning r.lane_id, r.position
    )
    insert into pgbaton.rewind (lane_id, position)
    select g.lane_id, min(g.position) from gathered as g group by g.lane_id;
end;
$$;
comment on function pgbaton._gather_rewinds(xid8) is
'Gives rewinds that stand far back a new number: those that a long transaction committed before released_from, where no
claim reads them, and those of lanes that nobody serves, which would keep released_from from rising.';
