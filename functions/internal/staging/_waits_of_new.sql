create or replace function pgbaton._waits_of_new(
    queue pgbaton.queue, run_id text, waits jsonb[], dedup_ids text[]
)
returns jsonb[]
language plpgsql stable
as $$
begin
    if waits is null or exists (
        select from pgbaton.enqueue_ledger as l
        where l.run_id = _waits_of_new.run_id and l.queue_id = queue.id and l.part = 0
    ) then
        return null;
    elsif dedup_ids is null then
        return waits;
    end if;
    return array(
        select case when not exists (
            select from pgbaton.dedup as d
            where d.queue_id = queue.id and d.dedup_id = u.dedup_id
            offset 0
        ) then u.wait end
        from unnest(waits, dedup_ids) with ordinality as u (wait, dedup_id, ordinal)
        order by u.ordinal
    );
end;
$$;
comment on function pgbaton._waits_of_new(pgbaton.queue, text, jsonb[], text[]) is
'The waits of those staged rows that will become jobs as far as is known: none of a run that is enqueued already, nor
those whose dedup id the queue knows.';
