-- What a statement reads: scans and rows of each table (sequentially) and of each index of pgbaton. \ir this first.
-- Counted by the server as it happens, so it holds whatever the planner thought: an index that is read whole shows
-- as its number of entries. Statistics of the open transaction, so nothing else on the server disturbs it.
create function tap.reads() returns table (relation text, kind "char", scans bigint, rows bigint)
language sql volatile as $$
    select c.relname, c.relkind, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_returned(c.oid)
    from pg_class as c
    where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'i')
$$;
create table tap.measured (stage text, execution integer, call text, relation text, kind "char", scans bigint, rows bigint);

create function tap.measure(stage text, execution integer, call text, statement text) returns void
language plpgsql as $$
declare
    v_before constant jsonb := (select jsonb_object_agg(r.relation, jsonb_build_array(r.scans, r.rows)) from tap.reads() as r);
begin
    execute statement;
    insert into tap.measured
    select measure.stage, measure.execution, measure.call, d.*
    from (
        select
            r.relation, r.kind, r.scans - coalesce((v_before -> r.relation ->> 0)::bigint, 0) as scans,
            r.rows - coalesce((v_before -> r.relation ->> 1)::bigint, 0) as rows
        from tap.reads() as r
    ) as d
    where d.scans > 0;
end;
$$;
