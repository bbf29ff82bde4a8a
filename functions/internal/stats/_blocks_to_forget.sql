create or replace function pgbaton._blocks_to_forget(at timestamptz)
returns text[]
language plpgsql volatile
as $$
begin
    return array(
        select b.job_id::text from pgbaton.key_block as b
        where b.ended_at < at - interval '30 days'
            or not exists (select from pgbaton.queue as q where q.id = b.queue_id)
        for update skip locked
    );
end;
$$;
comment on function pgbaton._blocks_to_forget(timestamptz) is
'The jobs in the log of blocked keys whose block ended 30 days ago, or whose queue is gone.';
