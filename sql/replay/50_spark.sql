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
    r.order_no
from pgbaton.inbox_row as r
where false;
comment on view pgbaton.enqueue_inbox is
'Each row that is inserted here becomes a job: the way in for tools that can only write tables. Always empty.
queue is needed; the other columns are parameters of enqueue_job. order_no orders the rows of one statement,
else their input order counts.
Raises what enqueue_batch raises, and then nothing of the statement is enqueued.';

-- Spark looks at the columns before it writes.
grant select, insert on pgbaton.enqueue_inbox to pgbaton_producer;

create or replace trigger enqueue_inbox_rows
after insert on pgbaton.inbox_row
referencing new table as added
for each statement execute function pgbaton.enqueue_inbox_rows();
