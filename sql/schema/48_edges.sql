-- Jobs that wait for jobs -------------------------------------------------------------------------
create sequence pgbaton.edge_seq as bigint;
comment on sequence pgbaton.edge_seq is
'Drawn from once in the life of a database, by the first job that waits for another one. A sequence, since its value
belongs to no transaction: whoever ends a job knows without a lock or a dead row that somebody may wait for it.';

create table pgbaton.job_edge (
    child_id bigint not null,
    parent_id bigint not null,
    day date not null,
    ordinal integer not null,
    constraint job_edge_pkey primary key (child_id, ordinal)
);
comment on table pgbaton.job_edge is
'Which job waits for which: written once, gone with the day of the child. What is settled is not noted here: it is told
by the state of the parent.';
comment on column pgbaton.job_edge.child_id is 'The job that waits.';
comment on column pgbaton.job_edge.parent_id is 'The job that it waits for.';
comment on column pgbaton.job_edge.day is 'UTC day of the child.';
comment on column pgbaton.job_edge.ordinal is 'The how many-th of the child, from 0.';

create table pgbaton.job_wait (
    child_id bigint not null,
    parent_id bigint,
    run_at timestamptz,
    blocked_at timestamptz,
    queue_id integer not null,
    level integer not null,
    no integer not null,
    ordinal integer,
    edges integer not null,
    on_failed text not null,
    constraint job_wait_pkey primary key (child_id, level, no),
    constraint job_wait_on_failed_check check (on_failed in ('wait', 'cancel', 'run'))
);
comment on table pgbaton.job_wait is
'What is left of a job''s wait: its edges in groups of 16, those groups in groups of 16, and so on to one. A row goes
when all of its group is settled. A group of edges watches one parent, the last that is not settled: only when that
one ends somebody looks for the next. So parents that end side by side meet in no row, and of any number each end
costs the same.';
comment on column pgbaton.job_wait.child_id is 'The job that waits: its span has a run_at of infinity.';
comment on column pgbaton.job_wait.parent_id is 'The job whose end is waited for; null above level 0.';
comment on column pgbaton.job_wait.run_at is 'When the job may run once it waits no more; null is at once.';
comment on column pgbaton.job_wait.blocked_at is
'When a parent of the group was seen to have failed, or ended without having completed, while on_failed is wait.';
comment on column pgbaton.job_wait.queue_id is 'Queue of the child.';
comment on column pgbaton.job_wait.level is '0: a group of edges; n: a group of groups of level n - 1.';
comment on column pgbaton.job_wait.no is 'Number of the group in its level: ordinal / 16 ^ (level + 1).';
comment on column pgbaton.job_wait.ordinal is 'The edge that is watched: those of the group behind it are settled.';
comment on column pgbaton.job_wait.edges is 'How many edges the child has.';
comment on column pgbaton.job_wait.on_failed is 'What a parent that does not complete does to the child: wait, cancel
or run.';

-- Who waits for a job that ended otherwise than completed; what may not be erased.
create index job_edge_parent_id_idx on pgbaton.job_edge (parent_id);
-- Who watches a job that ended.
create index job_wait_parent_id_idx on pgbaton.job_wait (parent_id) where parent_id is not null;
-- blocked_jobs: whose parents have failed.
create index job_wait_blocked_idx on pgbaton.job_wait (blocked_at) where blocked_at is not null;

create type pgbaton.job_dependency as (
    job_id bigint,
    waits_for bigint,
    queue text,
    state pgbaton.job_state,
    resolution text,
    on_failed text,
    is_settled boolean
);
comment on type pgbaton.job_dependency is
'job_id waits for waits_for, or did. queue, state and resolution are those of the other job than the one that was asked
about; on_failed is null once job_id waits no more; is_settled: it does not wait for that job any more.';

create type pgbaton.blocked_job as (
    queue text,
    job_id bigint,
    waits_for bigint,
    waits_for_queue text,
    state pgbaton.job_state,
    resolution text,
    last_error text,
    blocked_since timestamptz
);
comment on type pgbaton.blocked_job is
'A job that waits for one that failed, or that ended without having completed: which one, its state and last error.';
