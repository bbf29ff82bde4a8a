-- A queue's day in transactions of isolation level :level. Included by worker/isolation.pg, which commits.

begin isolation level :level;
create temporary table plain on commit preserve rows as
select u.id, u.n from pgbaton.enqueue_batch('mail', array_fill('{}'::jsonb, array[100])) with ordinality as u (id, n);
select is(
    (select count(*) from pgbaton.enqueue_jobs('mail', '[{"dedup_id": "a"}, {"dedup_id": "a"}, {"delay": "1 hour"}]')),
    3::bigint, :'level' || ': jobs are enqueued'
);
select isnt(
    pgbaton.enqueue_job('mail', dedup_id => 'b'), null, :'level' || ': one by one too'
);
select isnt(
    pgbaton.enqueue_job('orders', '1', singleton_key => 'k'), null, :'level' || ': with a key'
);
select is(
    (select count(*) from pgbaton.enqueue_batch('orders', '{2,3,4}', '{k,l,k}')), 3::bigint, :'level' || ': a batch with keys'
);
commit;

begin isolation level :level;
create temporary table lease on commit preserve rows as
select c.id, c.lease_token as token, row_number() over (order by c.id) as n
from pgbaton.claim_job_batch('w', '{mail}', batch_size => 30) as c;
select is((select count(*) from lease), 30::bigint, :'level' || ': jobs are claimed');
select is(
    (
        select array_agg(distinct v.verdict) from (
            select array_agg(l.id) as ids, min(l.token) as token from lease as l
        ) as l, pgbaton.start_jobs(l.ids, l.token) as v
    ), '{ok}', :'level' || ': started'
);
commit;

begin isolation level :level;
select is(
    (
        select array_agg(v.verdict) from (
            select array_agg(l.id) as ids, min(l.token) as token from lease as l where l.n in (3, 7)
        ) as l, pgbaton.complete_jobs(l.ids, l.token) as v
    ), '{ok,ok}', :'level' || ': completed'
);
select is(
    pgbaton.fail_job(l.id, 'no', l.token), 'retry', :'level' || ': failed'
)
from lease as l where l.n = 5;
select is(
    (select v.verdict from lease as l, pgbaton.release_jobs(array[l.id], l.token) as v where l.n = 9), 'ok',
    :'level' || ': given back'
);
select is(
    (select v.verdict from lease as l, pgbaton.extend_leases(array[l.id], l.token) as v where l.n = 11), 'ok',
    :'level' || ': extended'
);
select is(
    pgbaton.report_progress(l.id, l.token, 10), 'ok', :'level' || ': reported'
)
from lease as l where l.n = 11;
select is(pgbaton.complete_claim(min(l.token)), 26, :'level' || ': a claim completed') from lease as l;
commit;

begin isolation level :level;
select isnt(pgbaton.run_maintenance(), null, :'level' || ': maintenance runs');
commit;

-- Such a producer cannot see whether its key is busy: the next claim of the default level passes the baton.
select results_eq(
    $$select c.payload from pgbaton.claim_job_batch('w', '{orders}') as c$$, $$values ('1'::jsonb), ('3')$$,
    :'level' || ': keyed jobs are handed out, the first of each key'
);
begin isolation level :level;
create temporary table keyed on commit preserve rows as
select s.lo as id, s.lease_token as token, s.singleton_key as key from pgbaton.span as s where s.held_key is not null;
select lives_ok(
    format('select pgbaton.complete_job(%s, null, %s)', k.id, k.token), :'level' || ': a keyed job completes'
)
from keyed as k order by k.key;
commit;
create temporary table next on commit preserve rows as
select c.payload, c.lease_token as token from pgbaton.claim_job_batch('w', '{orders}') as c;
select results_eq(
    'select n.payload from next as n', $$values ('2'::jsonb)$$, :'level' || ': the next of its key is handed out'
);
begin isolation level :level;
select is(pgbaton.complete_claim(min(n.token)), 1, :'level' || ': and completed') from next as n;
commit;
begin isolation level :level;
select isnt(
    pgbaton.enqueue_job('orders', '5', singleton_key => 'k'), null, :'level' || ': a job behind a waiting one'
);
commit;
select results_eq(
    $$select c.payload from pgbaton.claim_job_batch('w', '{orders}') as c$$, $$values ('4'::jsonb)$$,
    :'level' || ': the last of the first batch goes before it'
);
select is(pgbaton.complete_claim(max(s.lease_token)), 1, :'level' || ': and completed') from pgbaton.span as s where s.held_key is not null;
select results_eq(
    $$select c.payload from pgbaton.claim_job_batch('w', '{orders}') as c$$, $$values ('5'::jsonb)$$,
    :'level' || ': then it runs'
);
select is_empty('select * from tap.broken', :'level' || ': every job stands in exactly one place');

-- A day without any transaction of the default level.
begin isolation level :level;
select isnt(
    pgbaton.enqueue_job('strict', '1', singleton_key => 'k'), null, :'level' || ': a key in a queue of its own'
);
commit;
begin isolation level :level;
select isnt(pgbaton.run_maintenance(), null, :'level' || ': maintenance in between');
commit;
begin isolation level :level;
select results_eq(
    $$select c.payload from pgbaton.claim_job_batch('w', '{strict}') as c$$, $$values ('1'::jsonb)$$,
    :'level' || ': a worker that only knows this level gets it'
);
commit;
drop table plain, lease, keyed, next;
select pgbaton.complete_claim(t.token)
from (select distinct s.lease_token as token from pgbaton.span as s where s.lease_token is not null) as t;
truncate pgbaton.span, pgbaton.job, pgbaton.job_history, pgbaton.job_report, pgbaton.job_error, pgbaton.dedup,
pgbaton.baton_release;
