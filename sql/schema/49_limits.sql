-- Limits of queues: a job starts when a permit of each limit of its queue is free ------------------
create table pgbaton.queue_limit (
    queue_id integer not null references pgbaton.queue (id),
    kind pgbaton.limit_kind not null,
    size integer not null,
    permits integer not null,
    last_no integer not null,
    refill interval,
    constraint queue_limit_pkey primary key (queue_id, kind)
);
comment on table pgbaton.queue_limit is 'The limits of queues that have some. Read by claims of these queues only.';
comment on column pgbaton.queue_limit.queue_id is 'Its queue.';
comment on column pgbaton.queue_limit.kind is 'What it counts.';
comment on column pgbaton.queue_limit.size is 'Jobs that its permits let start or run at most.';
comment on column pgbaton.queue_limit.permits is
'How many permits stand for that, numbered from 1; none for key, key_rate and key_burst.';
comment on column pgbaton.queue_limit.last_no is
'The last number that is in use: above permits when running was lowered below what ran.';
comment on column pgbaton.queue_limit.refill is
'After that a permit of rate or burst is free again, or a start of a key; null for running and key.';

create sequence pgbaton.permit_seq as bigint;
comment on sequence pgbaton.permit_seq is
'Versions of permits and of key_start. Never drawn from: there has never been a limit.';

create table pgbaton.permit (
    queue_id integer not null,
    kind pgbaton.limit_kind not null,
    no integer not null,
    version bigint not null,
    units integer not null,
    used integer not null,
    ordinal integer,
    lease_token bigint,
    free_at timestamptz,
    constraint permit_pkey primary key (queue_id, kind, no, version)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
comment on table pgbaton.permit is
'Who takes a permit locks its row, without waiting, and replaces it by one of a higher version. Looked for from the
newest version on, so that dead ones are never passed. Nobody gives one back: one of running is free when the claim that
took it has fewer jobs left than its ordinal, one of rate when its time has come.';
comment on column pgbaton.permit.queue_id is 'Its queue.';
comment on column pgbaton.permit.kind is 'Its limit.';
comment on column pgbaton.permit.no is 'Which permit of the limit.';
comment on column pgbaton.permit.version is 'Rises with each use.';
comment on column pgbaton.permit.units is 'For how many jobs it is good: 1 for running.';
comment on column pgbaton.permit.used is 'For how many it was used, see free_at and ordinal.';
comment on column pgbaton.permit.ordinal is 'running: the how manieth permit of its claim it is; null if never used.';
comment on column pgbaton.permit.lease_token is 'running: of the claim that used it.';
comment on column pgbaton.permit.free_at is 'rate, burst: when all of its units are free again.';

create table pgbaton.key_start (
    queue_id integer not null,
    singleton_key text not null,
    version bigint not null,
    last_at timestamptz not null,
    put_off_until timestamptz,
    starts timestamptz[] not null,
    constraint key_start_pkey primary key (queue_id, singleton_key, version)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
comment on table pgbaton.key_start is
'When jobs of a key started, in queues with a rate of each key. Only who holds the baton of the key starts one, and
replaces the row by one of a higher version. Looked for from the newest on, so that dead ones are never passed.';
comment on column pgbaton.key_start.queue_id is 'Its queue.';
comment on column pgbaton.key_start.singleton_key is 'Its key.';
comment on column pgbaton.key_start.version is 'Rises with each start.';
comment on column pgbaton.key_start.last_at is
'The last start. When the interval is over after it, the row is removed.';
comment on column pgbaton.key_start.put_off_until is
'To when the job that holds the key was put off, since as many had started; null if none was since the last start.
It is that job as long as its run_at is the same.';
comment on column pgbaton.key_start.starts is 'The last starts that may still count, the oldest first.';

-- run_maintenance: the rows whose interval is over.
create index key_start_last_at_idx on pgbaton.key_start (queue_id, last_at);
