-- Rows on their way through the view enqueue_inbox ----------------------------------------------
-- No index: nothing looks a row up. Unlogged: a row that was committed is a job already.
create unlogged table pgbaton.inbox_row (
    run_at timestamptz,
    order_no bigint,
    priority integer default 100,
    part integer,
    parts integer,
    queue text,
    singleton_key text,
    job_type text default '',
    dedup_id text,
    run_id text,
    tags text[] default '{}',
    payload jsonb default '{}',
    after bigint[],
    on_failed text
);
-- What is large is compressed once, in the job.
alter table pgbaton.inbox_row alter column payload set storage external;
comment on table pgbaton.inbox_row is
'Rows on their way through enqueue_inbox. The trigger turns them into jobs in the same transaction; what stays
here is waste that run_maintenance empties.';
comment on column pgbaton.inbox_row.run_at is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.order_no is 'Order among the rows of one statement; null comes last.';
comment on column pgbaton.inbox_row.priority is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.part is 'Number of the partition, from 0.';
comment on column pgbaton.inbox_row.parts is 'How many partitions the run has.';
comment on column pgbaton.inbox_row.queue is 'Where the job goes.';
comment on column pgbaton.inbox_row.singleton_key is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.job_type is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.dedup_id is 'As in enqueue_job; a row whose id is known becomes no job.';
comment on column pgbaton.inbox_row.run_id is 'The run whose partitions are enqueued once; null is none.';
comment on column pgbaton.inbox_row.tags is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.payload is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.after is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.on_failed is 'As in enqueue_job.';

-- What was enqueued already -----------------------------------------------------------------------
create table pgbaton.enqueue_run (
    run_id text not null,
    queue_ids integer[] not null,
    begun_at timestamptz not null,
    parts integer not null,
    fingerprint text,
    constraint enqueue_run_pkey primary key (run_id, queue_ids)
);
create index enqueue_run_begun_idx on pgbaton.enqueue_run (begun_at);
comment on table pgbaton.enqueue_run is
'Runs: DataFrames and micro-batches that are enqueued once, however often they are sent.';
comment on column pgbaton.enqueue_run.run_id is 'Name of the run, chosen by the producer.';
comment on column pgbaton.enqueue_run.queue_ids is
'Queues to which grants narrow the producer, {} for none: who is narrowed to others has runs of its own.';
comment on column pgbaton.enqueue_run.begun_at is 'When it was first seen.';
comment on column pgbaton.enqueue_run.parts is
'In how many partitions it comes, each a transaction; 0 when all of it is one.';
comment on column pgbaton.enqueue_run.fingerprint is 'What its data looked like, if that was said.';

create table pgbaton.enqueue_ledger (
    run_id text not null,
    queue_id integer not null,
    part integer not null,
    xid xid8 not null,
    noted_at timestamptz not null,
    jobs bigint,
    duplicates bigint,
    queue_ids integer[] not null,
    constraint enqueue_ledger_pkey primary key (run_id, queue_id, part)
);
comment on table pgbaton.enqueue_ledger is
'Partitions of runs that are enqueued, queue by queue: the row commits with the jobs, so the same partition comes in
once.';
comment on column pgbaton.enqueue_ledger.run_id is 'The run.';
comment on column pgbaton.enqueue_ledger.queue_id is 'Where the jobs went.';
comment on column pgbaton.enqueue_ledger.part is 'The partition; 0 when the run is one transaction.';
comment on column pgbaton.enqueue_ledger.xid is 'The transaction that enqueued it.';
comment on column pgbaton.enqueue_ledger.noted_at is 'When, at its end.';
comment on column pgbaton.enqueue_ledger.jobs is 'How many jobs it became; null only until its commit.';
comment on column pgbaton.enqueue_ledger.duplicates is 'How many rows had a dedup_id that was known.';
comment on column pgbaton.enqueue_ledger.queue_ids is 'As in enqueue_run: whose run it was.';

create table pgbaton.enqueue_range (
    run_id text not null,
    lo bigint not null,
    queue_id integer not null,
    part integer not null,
    day date not null,
    jobs integer not null,
    los bigint[] not null,
    his bigint[] not null,
    constraint enqueue_range_pkey primary key (run_id, lo)
);
comment on table pgbaton.enqueue_range is
'Which jobs the parts of runs became: a row for each statement or chunk that enqueued some.';
comment on column pgbaton.enqueue_range.run_id is 'The run.';
comment on column pgbaton.enqueue_range.lo is 'First of the ids, the place of the row in the run.';
comment on column pgbaton.enqueue_range.queue_id is 'Where the jobs went.';
comment on column pgbaton.enqueue_range.part is 'As in enqueue_ledger.';
comment on column pgbaton.enqueue_range.day is 'UTC day just before they were enqueued: theirs, or the one before.';
comment on column pgbaton.enqueue_range.jobs is 'How many.';
comment on column pgbaton.enqueue_range.los is 'Of each range of ids the first.';
comment on column pgbaton.enqueue_range.his is 'And the last.';

create type pgbaton.run_outcome as (
    id bigint,
    queue text,
    part integer,
    singleton_key text,
    payload jsonb,
    state pgbaton.job_state,
    resolution text,
    attempt integer,
    claimed_at timestamptz,
    ended_at timestamptz,
    last_error text,
    result jsonb
);
comment on type pgbaton.run_outcome is
'What became of a job of a run; attempt: attempts made, last_error: of the last that failed.';

create type pgbaton.run_report as (
    queue text,
    enqueued bigint,
    waiting bigint,
    running bigint,
    failed bigint,
    completed bigint,
    stopped bigint,
    gone bigint,
    p95 interval,
    errors jsonb
);
comment on type pgbaton.run_report is
'How far a run is in a queue: its jobs that wait (for a retry too), run, have failed for good, were completed, or ended
otherwise; gone: deleted, or dropped with their retention. p95: from claim to end of the completed ones, which 95 of 100
do not exceed. errors: of the failed ones, [{"error": first 200 characters, "jobs": how many}], the 20 most frequent.';

-- Rows that wait for spark_commit ------------------------------------------------------------------
-- Unlogged: rows that are lost with the server are missed by spark_commit, and the run starts again.
create unlogged table pgbaton.spark_chunk (
    attempt uuid not null,
    staged_at timestamptz not null,
    chunk_no integer not null,
    part integer not null,
    jobs integer not null,
    queue_id integer not null,
    day date not null,
    digest numeric not null,
    queue text not null,
    run_id text not null,
    los bigint[],
    his bigint[],
    range_los bigint[],
    range_his bigint[],
    payloads jsonb[],
    singleton_keys text[],
    priorities integer[],
    job_types text[],
    tags text[],
    run_ats timestamptz[],
    dedup_ids text[],
    order_nos bigint[],
    waits jsonb[],
    constraint spark_chunk_pkey primary key (attempt, chunk_no)
);
-- Written once and read once: compression would cost more than it saves.
alter table pgbaton.spark_chunk
alter column los set storage external,
alter column his set storage external,
alter column range_los set storage external,
alter column range_his set storage external,
alter column payloads set storage external,
alter column singleton_keys set storage external,
alter column priorities set storage external,
alter column job_types set storage external,
alter column tags set storage external,
alter column run_ats set storage external,
alter column dedup_ids set storage external,
alter column order_nos set storage external,
alter column waits set storage external;
create index spark_chunk_run_idx on pgbaton.spark_chunk (run_id);
comment on table pgbaton.spark_chunk is
'Rows staged by spark_stage, thousands in one row as parallel arrays, until spark_commit makes jobs of them.';
comment on column pgbaton.spark_chunk.attempt is 'The attempt at a partition that staged them.';
comment on column pgbaton.spark_chunk.staged_at is 'When.';
comment on column pgbaton.spark_chunk.chunk_no is 'Order of the chunks of an attempt.';
comment on column pgbaton.spark_chunk.part is 'Number of the partition.';
comment on column pgbaton.spark_chunk.digest is 'Sum of the hashes of its jobs, the same in any order.';
comment on column pgbaton.spark_chunk.queue is 'Where the jobs go.';
comment on column pgbaton.spark_chunk.run_id is 'The run.';
comment on column pgbaton.spark_chunk.jobs is 'How many rows.';
comment on column pgbaton.spark_chunk.los is
'First ids of the spans that its rows will be, when they stand in pgbaton.job already, where nothing knows them before
spark_commit; else null.';
comment on column pgbaton.spark_chunk.his is
'Last ids of these spans. The keys and instants are theirs then, and labels one.';
comment on column pgbaton.spark_chunk.range_los is
'Of each range of their ids the first, when los says where they are.';
comment on column pgbaton.spark_chunk.range_his is 'And the last.';
comment on column pgbaton.spark_chunk.day is 'UTC day on which they were staged: their partition there.';
comment on column pgbaton.spark_chunk.queue_id is 'Which queue of that name it was.';
comment on column pgbaton.spark_chunk.payloads is 'Payloads; null when they stand in pgbaton.job.';
comment on column pgbaton.spark_chunk.singleton_keys is 'Keys; null is none.';
comment on column pgbaton.spark_chunk.priorities is 'Priorities; null is the default.';
comment on column pgbaton.spark_chunk.job_types is 'Job types; null is the default.';
comment on column pgbaton.spark_chunk.tags is 'Tags, the array of each job as text; null is the default.';
comment on column pgbaton.spark_chunk.run_ats is 'Instants before which the jobs do not run; null is none.';
comment on column pgbaton.spark_chunk.dedup_ids is 'Producer''s ids; null is none.';
comment on column pgbaton.spark_chunk.order_nos is 'Order among all rows of the run; null is none.';
comment on column pgbaton.spark_chunk.waits is 'What each waits for, as _waits_of_rows has it; null is none.';
