-- The operator's desk ----------------------------------------------------------------------------
create type pgbaton.job_attempt as (
    attempt integer,
    outcome text,
    claimed_at timestamptz,
    ended_at timestamptz,
    worker_id text,
    error_message text,
    error_stack text
);
comment on type pgbaton.job_attempt is
'An attempt of a job. outcome: failed; running; lost, when the job was taken from its worker; or the final state in
which it ended the job. Of an attempt that was lost before the last one only the number is known.';

create type pgbaton.listed_job as (
    id bigint,
    queue text,
    job_type text,
    tags text[],
    priority integer,
    singleton_key text,
    state pgbaton.job_state,
    resolution text,
    attempt integer,
    max_attempts integer,
    created_at timestamptz,
    run_at timestamptz,
    claimed_at timestamptz,
    started_at timestamptz,
    ended_at timestamptz,
    worker_id text,
    error_message text,
    holds_key boolean
);
comment on type pgbaton.listed_job is
'A job in a list: without its payload, and with at most 1,000 characters of its last error. ended_at: when it ended or
failed. resolution: what became of one that had failed: skipped, deleted, requeued, purged or expired.';

create type pgbaton.job_range as (
    lo bigint,
    hi bigint,
    day date,
    queue_id integer,
    lane_id integer,
    state pgbaton.job_state,
    is_live boolean,
    worker_id text,
    ended_at timestamptz
);
comment on type pgbaton.job_range is
'Jobs lo to hi, live or ended, that share a state, as a search meets them. ended_at: when they ended or failed.';

create type pgbaton.search_place as (
    at timestamptz,
    id bigint
);
comment on type pgbaton.search_place is
'Where a search for jobs goes on: behind this id, or of dead letters behind the one of this time and id.';

create type pgbaton.search_bounds as (
    first_day date,
    last_day date,
    first_id bigint,
    last_id bigint
);
comment on type pgbaton.search_bounds is 'Days of enqueue and ids between which a search finds all there is.';

create type pgbaton.blocked_place as (
    state text,
    at timestamptz,
    queue_id integer,
    changed_at timestamptz,
    lo bigint,
    held_key text
);
comment on type pgbaton.blocked_place is
'Where a search for blocked keys is: at a job that failed, by when, or at one that waits for its time, in the order of
span_due_idx; and the key that it blocks.';

create type pgbaton.audit_entry as (
    id bigint,
    at timestamptz,
    actor text,
    action text,
    queue text,
    job_id bigint,
    singleton_key text,
    reason text
);
comment on type pgbaton.audit_entry is
'What somebody did: the function that was called, by which role, with which queue, job and key, and why.';

create type pgbaton.paused_key_info as (
    queue text,
    singleton_key text,
    paused_at timestamptz
);
comment on type pgbaton.paused_key_info is 'A key of which no job is handed out, and since when.';

-- list_audit: what was done to a queue and to a job.
create index audit_queue_idx on pgbaton.audit (queue, id);
create index audit_job_id_idx on pgbaton.audit (job_id, id) where job_id is not null;
