create or replace function pgbaton._drop_stored(chunk pgbaton.spark_chunk)
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.job as j
    where j.day = chunk.day and j.id = any (array(
        select g.id from unnest(chunk.los, chunk.his) as s (lo, hi)
        cross join lateral generate_series(s.lo, s.hi) as g (id)
    ));
end;
$$;
comment on function pgbaton._drop_stored(pgbaton.spark_chunk) is
'Drops the rows of a chunk that stand in pgbaton.job and will be no jobs, if it has such.';
