create or replace function pgbaton.note_enqueue_counts()
returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_counts constant jsonb := coalesce(nullif(current_setting('pgbaton.counts', true), ''), '{}')::jsonb;
    v_name constant text := concat_ws(' ', new.queue_id, new.part, new.run_id);
begin
    update pgbaton.enqueue_ledger as l
    set
        noted_at = pgbaton._now(),
        jobs = coalesce((v_counts -> v_name ->> 0)::bigint, 0),
        duplicates = coalesce((v_counts -> v_name ->> 1)::bigint, 0)
    where l.run_id = new.run_id and l.queue_id = new.queue_id and l.part = new.part;
    return null;
end;
$$;
comment on function pgbaton.note_enqueue_counts() is
'Trigger of the table of runs, at the end of a transaction that enqueued a part of a run: notes when, and how many jobs
it became. It cannot be called.';
