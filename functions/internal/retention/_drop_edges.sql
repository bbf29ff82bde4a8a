create or replace function pgbaton._drop_edges(day date, kept bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_first_id constant bigint := (select min(j.id) from pgbaton.job as j where j.day = _drop_edges.day);
    v_last_id constant bigint := (select max(j.id) from pgbaton.job as j where j.day = _drop_edges.day);
begin
    with dropped as (
        delete from pgbaton.job_edge as e
        where e.child_id between v_first_id and v_last_id and e.day = _drop_edges.day and e.child_id <> all (kept)
        returning e.child_id
    )
    delete from pgbaton.job_wait as w where w.child_id in (select d.child_id from dropped as d);
end;
$$;
comment on function pgbaton._drop_edges(date, bigint[]) is
'Forgets what the jobs of a day waited for, but those that are kept.';
