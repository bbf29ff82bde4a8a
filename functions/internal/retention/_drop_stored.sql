create or replace function pgbaton._drop_stored(day date, los bigint[], his bigint[])
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.job as j
    where j.day = _drop_stored.day and j.id = any (array(
        select g.id from unnest(los, his) as s (lo, hi)
        cross join lateral generate_series(s.lo, s.hi) as g (id)
    ));
end;
$$;
comment on function pgbaton._drop_stored(date, bigint[], bigint[]) is
'Drops the rows of these spans of a chunk, which stand in pgbaton.job and will be no jobs; none when they are null.';
