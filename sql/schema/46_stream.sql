-- A row that is copied or split gets the xmin of whoever does so: these keep the first one. Null is the rule and takes
-- no space, and no call of a worker writes it.
alter table pgbaton.job_history add column first_xid xid8;
comment on column pgbaton.job_history.first_xid is
'Transaction that ended the jobs, of a row that was split or copied since; null: its xmin.';
alter table pgbaton.job_error add column first_xid xid8;
comment on column pgbaton.job_error.first_xid is
'Transaction that failed the attempt, of a row that was copied since; null: its xmin.';

create type pgbaton.ended_job as (
    id bigint,
    queue text,
    job_type text,
    tags text[],
    priority integer,
    singleton_key text,
    state pgbaton.job_state,
    resolution text,
    attempt integer,
    payload jsonb,
    created_at timestamptz,
    run_at timestamptz,
    claimed_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    worker_id text,
    retry_count integer,
    last_error text,
    result jsonb
);
comment on type pgbaton.ended_job is
'A job that ended or failed: the columns of the view finished_jobs. finished_at of a failed one, which may still be
retried, is when it failed.';

create type pgbaton.id_range as (
    first_id bigint,
    last_id bigint,
    jobs bigint
);
comment on type pgbaton.id_range is
'The ids from the first to the last, both included, and how many jobs are among them.';
