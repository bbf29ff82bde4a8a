-- No index: nothing looks a row up. Unlogged: a row that was committed is a job already.
create unlogged table pgbaton.inbox_row (
    row_no bigint generated always as identity,
    run_at timestamptz,
    order_no bigint,
    priority integer default 100,
    queue text,
    singleton_key text,
    job_type text default '',
    tags text[] default '{}',
    payload jsonb default '{}'
);
comment on table pgbaton.inbox_row is
'Rows on their way through enqueue_inbox. The trigger turns them into jobs in the same transaction; what stays
here is waste that run_maintenance empties.';
comment on column pgbaton.inbox_row.row_no is 'Order in which the rows came.';
comment on column pgbaton.inbox_row.run_at is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.order_no is 'Order among the rows of one statement; null comes last.';
comment on column pgbaton.inbox_row.priority is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.queue is 'Where the job goes.';
comment on column pgbaton.inbox_row.singleton_key is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.job_type is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.tags is 'As in enqueue_job.';
comment on column pgbaton.inbox_row.payload is 'As in enqueue_job.';
