create or replace function pgbaton._require_parents_of(
    waits jsonb[], row_nos bigint[] default null, child_ids bigint[] default null
)
returns void
language plpgsql volatile
as $$
begin
    if waits is not null then
        perform pgbaton._require_parents(
            array(
                select distinct p.id::bigint
                from unnest(waits, child_ids) as w (wait, child_id)
                cross join lateral jsonb_array_elements_text(w.wait -> 'after') as p (id)
                where child_ids is null or w.child_id is not null
            ),
            waits, row_nos
        );
    end if;
end;
$$;
comment on function pgbaton._require_parents_of(jsonb[], bigint[], bigint[]) is
'Raises PB002 unless all jobs that rows wait for are known, and says which row is the first that names another one;
40001 under an older snapshot. child_ids: the jobs that they became; rows without one are not asked for.';
