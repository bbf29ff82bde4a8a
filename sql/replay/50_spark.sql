-- Nothing can be read here, and Spark's overwrite fails on a view instead of losing jobs.
create or replace view pgbaton.enqueue_inbox as
select
    r.queue,
    r.payload,
    r.priority,
    r.singleton_key,
    r.job_type,
    r.tags,
    r.run_at,
    r.dedup_id,
    r.order_no,
    r.run_id,
    r.part,
    r.parts,
    r.after,
    r.on_failed
from pgbaton.inbox_row as r
where false;
comment on view pgbaton.enqueue_inbox is
'Each row that is inserted here becomes a job: the way in for tools that can only write tables. The view is always
empty. queue is needed. payload, priority, singleton_key, job_type, tags, run_at, dedup_id, after and on_failed are
parameters of enqueue_job, where null is the default; a row whose dedup_id is known becomes no job. order_no orders the
rows of one statement; without it their input order counts.
run_id, part and parts belong together: the rows are the partition number part, of parts partitions, of a run. A
partition is one transaction and is enqueued once: when it comes again, its rows become no jobs.
Raises what enqueue_batch raises, PB002 (a job of after is not known), or PB013 (the run has other partitions), and then
nothing of the statement is enqueued.';

-- Spark looks at the columns before it writes.

create or replace trigger enqueue_inbox_rows
after insert on pgbaton.inbox_row
referencing new table as added
for each statement execute function pgbaton.enqueue_inbox_rows();

-- A constraint trigger cannot be replaced.
drop trigger if exists note_enqueue_counts on pgbaton.enqueue_ledger;
create constraint trigger note_enqueue_counts
after insert on pgbaton.enqueue_ledger
deferrable initially deferred
for each row when (new.jobs is null) execute function pgbaton.note_enqueue_counts();
