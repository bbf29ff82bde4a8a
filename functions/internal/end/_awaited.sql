create or replace function pgbaton._awaited(job_ids bigint[])
returns bigint[]
language plpgsql stable
as $$
begin
    if pg_sequence_last_value('pgbaton.edge_seq') is null then
        return '{}';
    end if;
    return array(
        select i.id from unnest(job_ids) as i (id)
        where exists (
            select from pgbaton.job_edge as e
            inner join pgbaton.job_wait as w on w.child_id = e.child_id
            where e.parent_id = i.id
            offset 0
        )
    );
end;
$$;
comment on function pgbaton._awaited(bigint[]) is
'Those of the jobs for which others wait: how they ended must be known until these go on.';
