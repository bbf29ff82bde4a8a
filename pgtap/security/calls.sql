-- One call of every public function, put together from the catalog. Wants lib/fixtures.sql. Used by role.sql, hostile_session.pg and
-- injection.pg. A new public function fails them all until it stands in who_may, and its arguments in sample.

-- Who may call what. An operator is a member of the other three, and may do what they may. Trigger functions run by
-- themselves and are not called here.
create temporary table who_may as
select who, unnest(names) as name
from (
    values
    ('everybody', '{version}'::text[]),
    ('producer', '{
        enqueue_job,enqueue_jobs,enqueue_batch,publish,subscribe,unsubscribe,list_subscriptions,job_id_of,two_phase_backoff,
        requires_key,enqueue_inbox_rows,note_enqueue_counts,spark_begin,spark_stage,spark_commit,spark_abort,spark_gc,
        spark_run,spark_unended,spark_ranges,spark_outcomes,spark_report
    }'),
    ('worker', '{
        claim_job_batch,claimed_jobs,wait_for_jobs,start_jobs,report_progress,extend_leases,complete_job,complete_jobs,complete_claim,
        complete_and_claim,
        fail_job,fail_jobs,release_jobs,stop_job,stop_job_with_retry,mark_job_unknown_stopped,acknowledge_cancellation,
        worker_heartbeat,unregister_worker,mark_worker_unresponsive,recover_stale_jobs,run_maintenance,parent_outcomes
    }'),
    ('monitor', '{
        get_job,job_outcomes,wait_for_outcomes,get_job_stats,queue_stats,fifo_stats,granted_queues,health,kv_get,kv_list,list_workers,live_stats,job_totals,
        wake_ups,job_attempts,job_dependencies,find_jobs,list_jobs,ended_jobs,ended_jobs_offset,ended_jobs_ranges
    }'),
    ('operator', '{
        create_queue,create_fifo_queue,update_queue,set_fifo_mode,pause_queue,resume_queue,pause_key,resume_key,drop_queue,
        list_queues,set_queue_limits,list_queue_limits,grant_queue,revoke_queue,
        blocked_keys,cancel_jobs,cleanup_expired_jobs,create_schedule,delete_dead_job,delete_job,delete_jobs,drop_schedule,
        get_blocked_keys,get_dead_job,kv_delete,list_dead_jobs,list_schedules,pause_schedule,purge_dead_jobs,
        change_priority,requeue_dead_job,reschedule_job,reset_fifo_key,reset_running_jobs,retry_job,retry_jobs,skip_job,
        why_not_running,act_on_jobs,run_schedule,list_audit,list_paused_keys,
        blocked_jobs,stop_waiting,find_blocked_keys,list_blocked_keys
    }')
) as w (who, names);

-- Something for each call to work on.
select pgbaton.create_queue('q', max_attempts => 3, lease => '1 hour', retry_backoff => false);
select pgbaton.create_queue('empty');
select pgbaton.create_fifo_queue('f', max_attempts => 1, lease => '1 hour');
create temporary table id as
select name, pgbaton.enqueue_job('q', to_jsonb(name), tags => array[name], dedup_id => name) as id
from unnest('{active,cancelling,failed,completed}'::text[]) as name;
select count(*) from pgbaton.claim_job_batch('w', '{q}') \gset
create temporary table token as select distinct lease_token as token from pgbaton.span where state = 'active';
select pgbaton.fail_job(id, 'no', token, false) from id, token where name = 'failed';
select pgbaton.complete_job(id, lease_token => token) from id, token where name = 'completed';
select pgbaton.cancel_jobs(job_ids => array[id]) from id where name = 'cancelling';
insert into id select 'scheduled', pgbaton.enqueue_job('q', run_at => '2100-01-01');
insert into id select 'held', pgbaton.enqueue_job('q', after => array[id]) from id where name = 'active';
select pgbaton.enqueue_job('f', singleton_key => 'k', keys_if_undelivered => '[["k"]]') as f1 \gset
select pgbaton.enqueue_job('f', singleton_key => 'k') as f2 \gset
select pgbaton.fail_job(id, 'no', lease_token) from pgbaton.claim_job_batch('w', '{f}');
select pgbaton.subscribe('q', 'news');
select pgbaton.create_schedule('s', 'q', '* * * * *');
select pgbaton.spark_begin('run', 1);

-- What an argument is called with: of several rows the first that fits the function. Only those without a default are needed.
create temporary table sample (functions text, argument text, value text);
insert into sample values
('^create_(fifo_)?queue$', 'queue', 'new'), ('^(drop_queue|set_fifo_mode)$', 'queue', 'empty'),
('_key$|^get_blocked_keys$', 'queue', 'f'), ('', 'queue', 'q'), ('', 'singleton_key', 'k'), ('', 'reason', 'because'),
('^(retry|skip|delete)_job$|dead_job$', 'job_id', '<failed>'), ('^acknowledge|^stop_job_with_retry', 'job_id', '<cancelling>'), ('^(reschedule_job|change_priority)$', 'job_id', '<scheduled>'),
('^stop_waiting$', 'job_id', '<held>'), ('', 'job_id', '<active>'), ('', 'priority', '100'),
('^wait_for_outcomes$', 'job_ids', '{<failed>}'), ('', 'job_ids', '{<active>}'), ('', 'lease_token', '<token>'), ('', 'worker_id', 'w'),
('', 'payload', '{}'), ('', 'payloads', '{1,2}'), ('', 'jobs', '[{}]'), ('', 'topic', 'news'), ('', 'topic_pattern', 'news.#'),
('', 'dedup_id', 'active'), ('', 'error_message', 'no'), ('', 'error_messages', '{no}'), ('', 'was_executing', 'true'),
('', 'enabled', 'true'), ('', 'role', 'pgbaton_worker'), ('^act_on_jobs$', 'action', 'retry'), ('', 'action', 'work'),
('', 'filter', '{"queue": "q"}'), ('^create_schedule$', 'name', 's2'), ('', 'name', 's'),
('', 'cron', '0 1 * * *'), ('', 'ttl', '1 day'), ('', 'key', '{k}'), ('', 'prefix', '{}'), ('', 'after', '{}'), ('', 'until', '{}'),
('', 'run_id', 'run'), ('', 'parts', '1'), ('', 'part', '0'), ('', 'chunk_no', '1'), ('', 'attempt', '5a0f2c1e-0000-4000-8000-000000000001'),
('', 'attempts', '{}'), ('', 'expected', '0');

create temporary table public_function as
select p.oid, p.proname::text as name
from pg_proc as p
where p.pronamespace = 'pgbaton'::regnamespace and p.proname !~ '^_' and p.prorettype <> 'trigger'::regtype;

create temporary table argument as
select
    f.oid, f.name as function, a.name as argument, a.type::regtype as type, a.ordinal <= p.pronargs - p.pronargdefaults as is_needed,
    (
        select s.value from sample as s where f.name ~ s.functions and s.argument = a.name limit 1
    ) as value
from public_function as f
inner join pg_proc as p using (oid)
cross join lateral unnest(p.proargtypes::oid[], p.proargnames[1:p.pronargs]) with ordinality as a (type, name, ordinal);
update argument set value = replace(value, '<' || name || '>', id.id::text) from id where value ~ ('<' || name || '>');
update argument set value = replace(value, '<token>', token::text) from token where value ~ '<token>';

-- The call: all arguments that it needs, one of them perhaps with another value than its sample.
create function pg_temp.call(called oid, instead text default null, value text default null) returns text
language sql stable as $$
    select format(
        'select * from pgbaton.%I(%s)',
        (select f.name from public_function as f where f.oid = called),
        coalesce(string_agg(
            format('%I => %L', a.argument, case when a.argument = instead then call.value else a.value end), ', ' order by a.argument
        ), '')
    )
    from argument as a
    where a.oid = called and (a.is_needed or a.argument = instead)
$$;
