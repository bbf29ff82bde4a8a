create or replace function pgbaton._drop_chunks(names text[])
returns bigint
language plpgsql volatile
as $$
declare
    v_chunks bigint := 0;
    v_chunk record;
begin
    for v_chunk in
        delete from pgbaton.spark_chunk as c
        where c.ctid = any (array(
            select o.ctid
            from unnest(names) as n (name)
            cross join lateral (
                select s.ctid from pgbaton.spark_chunk as s
                where s.attempt = split_part(n.name, ' ', 1)::uuid and s.chunk_no = split_part(n.name, ' ', 2)::integer
                offset 0
            ) as o
        ))
        returning c.day, c.los, c.his
    loop
        perform pgbaton._drop_stored(v_chunk.day, v_chunk.los, v_chunk.his);
        v_chunks := v_chunks + 1;
    end loop;
    return v_chunks;
end;
$$;
comment on function pgbaton._drop_chunks(text[]) is
'Drops the chunks that _old_chunks named, with their rows, and returns how many.';
