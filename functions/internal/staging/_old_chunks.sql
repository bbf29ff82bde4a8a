create or replace function pgbaton._old_chunks(at timestamptz)
returns text[]
language plpgsql volatile
as $$
begin
    return array(
        select format('%s %s', o.attempt, o.chunk_no) from pgbaton.spark_chunk as o
        where o.staged_at < at - interval '1 day'
        limit 50
        for update skip locked
    );
end;
$$;
comment on function pgbaton._old_chunks(timestamptz) is
'Chunks of Spark that were staged more than a day ago: attempt and number.';
