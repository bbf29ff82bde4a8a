-- grant_queue, action by action. Wants the variable action, after "begin" and the plan. Gives 15 assertions.
-- The role tap_narrow may do everything but this action on the queues theirs and theirs_fifo, and this action on mine only. Every
-- public function stands in one row of the table call, with the action it needs and what comes of it on jobs of theirs.
\ir ../lib/fixtures.sql
\ir ../functions/lib_jobs.sql
\ir ../scenarios/story.sql
select tap.set_now('2030-01-01 00:00+00');
select pgbaton.run_maintenance() is not null as done \gset
select pgbaton.create_queue('theirs', max_attempts => 3, lease => '1 hour');
select pgbaton.create_fifo_queue('theirs_fifo', max_attempts => 3, lease => '1 hour');
select pgbaton.create_queue('mine', max_attempts => 3, lease => '1 hour');
select pgbaton.enqueue_job('theirs', to_jsonb(name), tags => '{x}', dedup_id => name, keys_if_undelivered => '[["secret"]]')
from unnest('{active,active2,cancelling,retry,failed,completed,unknown_stopped}'::text[]) as name;
select story.claim('theirs', 'their worker');
select story.fail('retry', retry_in => '1 day'), story.fail('failed', false), story.complete('completed'), pgbaton.mark_job_unknown_stopped(story.id('unknown_stopped'));
select pgbaton.cancel_jobs(job_ids => array[story.id('cancelling')]);
select pgbaton.enqueue_job('theirs', '"pending"', tags => '{x}');
select story.enqueue(name, 'theirs_fifo', left(name, 1)) from unnest('{a1,a2,b1,b2,p1}'::text[]) as name;
select pgbaton.pause_key('theirs_fifo', 'p');
select story.claim('theirs_fifo', 'their worker');
select story.fail('a1', false);
select pgbaton.subscribe('theirs', 'news');
select pgbaton.create_schedule('their schedule', 'theirs', '0 0 1 1 *');
select pgbaton.enqueue_job('theirs', '"held"', after => array[story.id('failed')]);
select story.enqueue('own', 'mine');
select story.enqueue('own2', 'mine');
select tap.advance('1 minute');

create role tap_narrow;
create role tap_free;
grant pgbaton_operator to tap_narrow, tap_free;
create role tap_member;
grant tap_narrow to tap_member;
select pgbaton.grant_queue('tap_narrow', 'mine', :'action');
select pgbaton.grant_queue('tap_narrow', q, a)
from unnest('{theirs,theirs_fifo}'::text[]) as q, unnest('{enqueue,work,operate,monitor}'::text[]) as a where a <> :'action';

create temporary table call (name text, action text, statement text, becomes text);
-- Words: <name> is the id of that job, {name} its token.
insert into call values
-- all actions on all queues, or no job of anybody's
('version', 'none', null, null), ('two_phase_backoff', 'none', null, null), ('granted_queues', 'none', null, null), ('health', 'none', null, null),
('create_queue', 'none', null, null), ('create_fifo_queue', 'none', null, null), ('run_maintenance', 'none', null, null),
('enqueue_inbox_rows', 'none', null, null), ('note_enqueue_counts', 'none', null, null), ('spark_gc', 'none', null, null),
-- enqueue
('enqueue_job', 'enqueue', $$pgbaton.enqueue_job('theirs')$$, 'PB009'),
('enqueue_job', 'enqueue', $$pgbaton.enqueue_job('mine', after => array[<active>])$$, 'PB002'),
('enqueue_jobs', 'enqueue', $$pgbaton.enqueue_jobs('theirs', '[{}]')$$, 'PB009'),
('enqueue_batch', 'enqueue', $$pgbaton.enqueue_batch('theirs', '{1}')$$, 'PB009'),
('publish', 'enqueue', $$pgbaton.publish('news', '{}')$$, ''),
('subscribe', 'enqueue', $$pgbaton.subscribe('theirs', 'x')$$, 'PB009'),
('unsubscribe', 'enqueue', $$pgbaton.unsubscribe('theirs', 'news')$$, 'PB009'),
('list_subscriptions', 'enqueue', $$pgbaton.list_subscriptions()$$, ''),
('list_subscriptions', 'enqueue', $$pgbaton.list_subscriptions('theirs')$$, 'PB009'),
('job_id_of', 'enqueue', $$pgbaton.job_id_of('theirs', 'active')$$, 'PB009'),
('requires_key', 'enqueue', $$pgbaton.requires_key('theirs')$$, 'PB009'),
('spark_begin', 'enqueue', $$pgbaton.spark_begin('run', 1)$$, ''),
('spark_run', 'enqueue', $$pgbaton.spark_run('their run')$$, ''),
('spark_unended', 'enqueue', $$pgbaton.spark_unended('their run')$$, '42704'),
('spark_ranges', 'enqueue', $$pgbaton.spark_ranges('their run')$$, '42704'),
('spark_outcomes', 'enqueue', $$pgbaton.spark_outcomes('their run')$$, '42704'),
('spark_report', 'enqueue', $$pgbaton.spark_report('their run')$$, '42704'),
('spark_stage', 'enqueue', $$pgbaton.spark_stage('run', gen_random_uuid(), 0, 1, 'theirs', '{1}')$$, 'PB009'),
('spark_commit', 'enqueue', $$(select inserted from pgbaton.spark_commit('their run', '{}', 0))$$, '(0)'),
('spark_abort', 'enqueue', $$(select pgbaton.spark_abort('their run'))$$, '(0)'),
-- work
('claim_job_batch', 'work', $$pgbaton.claim_job_batch('w', '{theirs}')$$, 'PB009'),
('claim_job_batch', 'work', $$pgbaton.claim_job_batch('w', '{mine,theirs_fifo}')$$, 'PB009'),
('claim_job_batch', 'work', $$(select queue from pgbaton.claim_job_batch('w'))$$, '(mine) (mine)'),
('wait_for_jobs', 'work', $$pgbaton.wait_for_jobs('w', '{theirs}')$$, 'PB009'),
('start_jobs', 'work', $$(select verdict from pgbaton.start_jobs(array[<active>, <b1>], {active}))$$, '(not_found) (not_found)'),
('extend_leases', 'work', $$(select verdict from pgbaton.extend_leases(array[<active>, <cancelling>], {active}))$$, '(not_found) (not_found)'),
('report_progress', 'work', $$pgbaton.report_progress(<active>, {active}, 50)$$, 'PB002'),
('complete_job', 'work', $$pgbaton.complete_job(<active>)$$, 'PB002'),
('complete_job', 'work', $$pgbaton.complete_job(<active>, null, {active})$$, 'PB002'),
('complete_job', 'work', $$pgbaton.complete_job(<unknown_stopped>)$$, 'PB002'),
('complete_jobs', 'work', $$(select verdict from pgbaton.complete_jobs(array[<active>, <unknown_stopped>], {active}, '{1,2}'))$$, '(not_found) (not_found)'),
('complete_claim', 'work', $$pgbaton.complete_claim({active})$$, '(0)'),
('complete_and_claim', 'work', $$pgbaton.complete_and_claim('{}', null, 'w', '{theirs}')$$, 'PB009'),
('complete_and_claim', 'work', $$(select verdict, queue from pgbaton.complete_and_claim(array[<active>, <unknown_stopped>], {active}, 'w', null, results => '{1,2}'))$$,
    '(claimed,mine) (claimed,mine) (not_found,) (not_found,)'),
('complete_and_claim', 'work', $$(select verdict, queue from pgbaton.complete_and_claim(array[<active>], {active}, 'w', '{mine,theirs}'))$$, '(not_found,)'),
('parent_outcomes', 'work', $$pgbaton.parent_outcomes(<active>, {active})$$, 'PB002'),
('claimed_jobs', 'work', $$pgbaton.claimed_jobs({active})$$, ''),
('fail_job', 'work', $$pgbaton.fail_job(<active>, 'x', {active})$$, 'PB002'),
('fail_jobs', 'work', $$(select verdict from pgbaton.fail_jobs(array[<active>], '{x}'))$$, '(not_found)'),
('release_jobs', 'work', $$(select verdict from pgbaton.release_jobs(array[<active>], {active}))$$, '(not_found)'),
('stop_job', 'work', $$pgbaton.stop_job(<active>, 'x', {active})$$, 'PB002'),
('stop_job_with_retry', 'work', $$pgbaton.stop_job_with_retry(<cancelling>, 'x', {cancelling})$$, 'PB002'),
('mark_job_unknown_stopped', 'work', $$pgbaton.mark_job_unknown_stopped(<active>)$$, 'PB002'),
('acknowledge_cancellation', 'work', $$pgbaton.acknowledge_cancellation(<cancelling>, true, {cancelling})$$, 'PB002'),
('worker_heartbeat', 'work', $$pgbaton.worker_heartbeat('their worker')$$, '({})'),
('unregister_worker', 'work', $$pgbaton.unregister_worker('their worker')$$, '(false)'),
('mark_worker_unresponsive', 'work', $$pgbaton.mark_worker_unresponsive('their worker')$$, '(0)'),
('recover_stale_jobs', 'work', $$pgbaton.recover_stale_jobs('0')$$, '(0)'),
('recover_stale_jobs', 'work', $$pgbaton.recover_stale_jobs('0', 'theirs')$$, 'PB009'),
-- operate
('grant_queue', 'operate', $$pgbaton.grant_queue('tap_narrow', 'theirs', 'operate')$$, 'PB009'),
('revoke_queue', 'operate', $$pgbaton.revoke_queue('tap_narrow', 'mine', 'operate')$$, 'PB009'),
('list_queues', 'operate', $$(select queue from pgbaton.list_queues())$$, '(mine)'),
('update_queue', 'operate', $$pgbaton.update_queue('theirs', max_attempts => 9)$$, 'PB009'),
('drop_queue', 'operate', $$pgbaton.drop_queue('theirs', true)$$, 'PB009'),
('set_queue_limits', 'operate', $$pgbaton.set_queue_limits('theirs', max_running => 1)$$, 'PB009'),
('list_queue_limits', 'operate', $$(select count(*) from pgbaton.list_queue_limits())$$, '(0)'),
('set_fifo_mode', 'operate', $$pgbaton.set_fifo_mode('theirs', true)$$, 'PB009'),
('pause_queue', 'operate', $$pgbaton.pause_queue('theirs')$$, 'PB009'),
('resume_queue', 'operate', $$pgbaton.resume_queue('theirs')$$, 'PB009'),
('pause_key', 'operate', $$pgbaton.pause_key('theirs_fifo', 'b')$$, 'PB009'),
('resume_key', 'operate', $$pgbaton.resume_key('theirs_fifo', 'p')$$, 'PB009'),
('cancel_jobs', 'operate', $$pgbaton.cancel_jobs('{x}')$$, '({},{})'),
('cancel_jobs', 'operate', $$(select cancelled_job_ids from pgbaton.cancel_jobs(null, array[<pending>, <active>, <retry>, <a2>]))$$, '({})'),
('delete_jobs', 'operate', $$pgbaton.delete_jobs('{x}')$$, '(0)'),
('delete_jobs', 'operate', $$pgbaton.delete_jobs(null, array[<completed>, <failed>])$$, '(0)'),
('delete_job', 'operate', $$pgbaton.delete_job('theirs', <pending>)$$, 'PB009'),
('delete_job', 'operate', $$pgbaton.delete_job('mine', <pending>)$$, 'PB002'),
('retry_job', 'operate', $$pgbaton.retry_job('theirs', <failed>)$$, 'PB009'),
('retry_job', 'operate', $$pgbaton.retry_job('mine', <failed>)$$, 'PB002'),
('retry_jobs', 'operate', $$pgbaton.retry_jobs('theirs')$$, 'PB009'),
('skip_job', 'operate', $$pgbaton.skip_job('theirs', <failed>)$$, 'PB009'),
('reschedule_job', 'operate', $$pgbaton.reschedule_job('theirs', <pending>)$$, 'PB009'),
('reschedule_job', 'operate', $$pgbaton.reschedule_job('mine', <pending>)$$, 'PB002'),
('change_priority', 'operate', $$pgbaton.change_priority('theirs', <pending>, 7)$$, 'PB009'),
('change_priority', 'operate', $$pgbaton.change_priority('mine', <pending>, 7)$$, 'PB002'),
('stop_waiting', 'operate', $$pgbaton.stop_waiting('theirs', <held>)$$, 'PB009'),
('stop_waiting', 'operate', $$pgbaton.stop_waiting('mine', <held>)$$, 'PB002'),
('blocked_jobs', 'operate', $$(select queue from pgbaton.blocked_jobs())$$, ''),
('blocked_jobs', 'operate', $$pgbaton.blocked_jobs('theirs')$$, 'PB009'),
('blocked_keys', 'operate', $$pgbaton.blocked_keys(include_busy => true)$$, ''),
('blocked_keys', 'operate', $$pgbaton.blocked_keys('theirs_fifo')$$, 'PB009'),
('get_blocked_keys', 'operate', $$pgbaton.get_blocked_keys('theirs_fifo')$$, 'PB009'),
('find_blocked_keys', 'operate', $$(select f.job_ids from pgbaton.find_blocked_keys() as f)$$, '({})'),
('find_blocked_keys', 'operate', $$pgbaton.find_blocked_keys('theirs_fifo')$$, 'PB009'),
('list_blocked_keys', 'operate', $$pgbaton.list_blocked_keys(array[<active>, <completed>, <failed>])$$, ''),
('why_not_running', 'operate', $$pgbaton.why_not_running(<failed>)$$, 'PB002'),
('list_dead_jobs', 'operate', $$pgbaton.list_dead_jobs()$$, ''),
('list_dead_jobs', 'operate', $$pgbaton.list_dead_jobs('theirs')$$, 'PB009'),
('act_on_jobs', 'operate', $$pgbaton.act_on_jobs('retry', '{"queue": "theirs"}')$$, 'PB009'),
('act_on_jobs', 'operate', $$pgbaton.act_on_jobs('retry', '{"states": ["failed"]}')$$, '(0,0,)'),
('act_on_jobs', 'operate', $$pgbaton.act_on_jobs('prioritize', '{"queue": "theirs"}', priority => 5)$$, 'PB009'),
('act_on_jobs', 'operate', $$pgbaton.act_on_jobs('prioritize', '{"tags": ["x"]}', priority => 5)$$, '(0,0,)'),
('act_on_jobs', 'operate', $$pgbaton.act_on_jobs('reschedule', '{"tags": ["x"]}')$$, '(0,0,)'),
('act_on_jobs', 'operate', $$pgbaton.act_on_jobs('cancel', '{"tags": ["x"]}')$$, '(0,0,)'),
('act_on_jobs', 'operate', $$pgbaton.act_on_jobs('erase', '{"tags": ["x"]}', dry_run => true)$$, '(0,0,)'),
('run_schedule', 'operate', $$pgbaton.run_schedule('their schedule')$$, 'PB009'),
('list_audit', 'operate', $$pgbaton.list_audit('theirs')$$, 'PB009'),
('list_audit', 'operate', $$pgbaton.list_audit(job_id => <failed>)$$, ''),
('list_paused_keys', 'operate', $$pgbaton.list_paused_keys('theirs_fifo')$$, 'PB009'),
('list_paused_keys', 'operate', $$pgbaton.list_paused_keys()$$, ''),
('get_dead_job', 'operate', $$pgbaton.get_dead_job(<failed>)$$, 'PB002'),
('requeue_dead_job', 'operate', $$pgbaton.requeue_dead_job(<failed>)$$, 'PB002'),
('delete_dead_job', 'operate', $$pgbaton.delete_dead_job(<failed>)$$, 'PB002'),
('purge_dead_jobs', 'operate', $$pgbaton.purge_dead_jobs()$$, '(0)'),
('purge_dead_jobs', 'operate', $$pgbaton.purge_dead_jobs('theirs')$$, 'PB009'),
('reset_running_jobs', 'operate', $$pgbaton.reset_running_jobs()$$, '(0)'),
('reset_running_jobs', 'operate', $$pgbaton.reset_running_jobs('theirs')$$, 'PB009'),
('cleanup_expired_jobs', 'operate', $$pgbaton.cleanup_expired_jobs('1 second')$$, '(0)'),
('reset_fifo_key', 'operate', $$pgbaton.reset_fifo_key('theirs_fifo', 'a', 'x')$$, 'PB009'),
('create_schedule', 'operate', $$pgbaton.create_schedule('s', 'theirs', '* * * * *')$$, 'PB009'),
('create_schedule', 'operate', $$pgbaton.create_schedule('their schedule', 'mine', '* * * * *')$$, 'PB009'),
('pause_schedule', 'operate', $$pgbaton.pause_schedule('their schedule')$$, 'PB009'),
('drop_schedule', 'operate', $$pgbaton.drop_schedule('their schedule')$$, 'PB009'),
('list_schedules', 'operate', $$pgbaton.list_schedules()$$, ''),
('kv_delete', 'operate', $$pgbaton.kv_delete('{secret}')$$, '(false)'),
-- monitor
('job_attempts', 'monitor', $$pgbaton.job_attempts(<active>)$$, 'PB002'),
('find_jobs', 'monitor', $$(select f.job_ids from pgbaton.find_jobs('{"tags": ["x"]}') as f)$$, '({})'),
('find_jobs', 'monitor', $$pgbaton.find_jobs('{"queue": "theirs"}')$$, 'PB009'),
('list_jobs', 'monitor', $$pgbaton.list_jobs(array[<active>, <completed>, <failed>])$$, ''),
('job_outcomes', 'monitor', $$(select state from pgbaton.job_outcomes(array[<completed>, <failed>]) where state is not null)$$, ''),
('wait_for_outcomes', 'monitor', $$(select state from pgbaton.wait_for_outcomes(array[<active>], '10 ms') where state is not null)$$, ''),
('job_dependencies', 'monitor', $$pgbaton.job_dependencies(<held>)$$, 'PB002'),
('get_job', 'monitor', $$pgbaton.get_job(<active>)$$, 'PB002'),
('get_job', 'monitor', $$pgbaton.get_job(<completed>)$$, 'PB002'),
('get_job_stats', 'monitor', $$(select total_jobs from pgbaton.get_job_stats('{x}'))$$, '(0)'),
('queue_stats', 'monitor', $$(select queue from pgbaton.queue_stats())$$, '(mine)'),
('queue_stats', 'monitor', $$pgbaton.queue_stats('theirs')$$, 'PB009'),
('live_stats', 'monitor', $$(select queue from pgbaton.live_stats())$$, '(mine)'),
('live_stats', 'monitor', $$pgbaton.live_stats('theirs')$$, 'PB009'),
('job_totals', 'monitor', $$(select queue from pgbaton.job_totals())$$, '(mine)'),
('job_totals', 'monitor', $$pgbaton.job_totals('theirs')$$, 'PB009'),
('wake_ups', 'monitor', $$(select w from pgbaton.wake_ups() as w where w is not null)$$, ''),
('list_workers', 'monitor', $$pgbaton.list_workers()$$, ''),
('fifo_stats', 'monitor', $$pgbaton.fifo_stats()$$, ''),
('fifo_stats', 'monitor', $$pgbaton.fifo_stats('theirs_fifo')$$, 'PB009'),
('ended_jobs_offset', 'monitor', $$pgbaton.ended_jobs_offset('{}', 'theirs')$$, 'PB009'),
('ended_jobs_ranges', 'monitor', $$pgbaton.ended_jobs_ranges('{}', '{}', 'theirs')$$, 'PB009'),
('ended_jobs', 'monitor', $$pgbaton.ended_jobs('{}', '{}', 'theirs')$$, 'PB009'),
('kv_get', 'monitor', $$pgbaton.kv_get('{secret}')$$, ''),
('kv_list', 'monitor', $$pgbaton.kv_list('{}')$$, ''),
('live_jobs', 'monitor', $$(select queue from pgbaton.live_jobs group by 1)$$, '(mine)'),
('finished_jobs', 'monitor', $$(select queue from pgbaton.finished_jobs)$$, ''),
('jobs', 'monitor', $$(select queue from pgbaton.jobs group by 1)$$, '(mine)'),
('long_blocked_keys', 'monitor', $$pgbaton.long_blocked_keys$$, '');

-- All that belongs to them.
create function pg_temp.theirs() returns jsonb
language sql security definer as $$
    select jsonb_build_object(
        'spans', (select md5(string_agg(s::text, ' ' order by s.lo)) from pgbaton.span as s where s.queue_id in (select id from pgbaton.queue where name ~ '^theirs')),
        'history', (select md5(string_agg(h::text, ' ' order by h.lo)) from pgbaton.job_history as h),
        'reports', (select md5(string_agg(r::text, ' ' order by r.job_id)) from pgbaton.job_report as r where r.job_id <> story.id('own')),
        'jobs', (select count(*) from pgbaton.job), 'queues', (select md5(string_agg(q::text, ' ' order by q.id)) from pgbaton.queue as q),
        'keys', (select count(*) from pgbaton.paused_key), 'subscriptions', (select count(*) from pgbaton.subscription),
        'schedules', (select md5(string_agg(c::text, ' ' order by c.name)) from pgbaton.schedule as c), 'kv', (select count(*) from pgbaton.kv),
        'grants', (select count(*) from pgbaton.queue_grant)
    )
$$;
-- What a call gives a role: its SQLSTATE, or its rows as text; undone afterwards.
create function pg_temp.outcome(role name, statement text) returns text
language plpgsql as $$
declare
    v_before constant jsonb := pg_temp.theirs();
    v_text text := statement;
    v_job record;
    v_outcome text;
begin
    for v_job in select j.payload #>> '{}' as name, j.id from pgbaton.job as j where jsonb_typeof(j.payload) = 'string' loop
        v_text := replace(replace(v_text, '<' || v_job.name || '>', v_job.id::text), '{' || v_job.name || '}', coalesce(story.token(v_job.name), 0)::text);
    end loop;
    execute format('set local role %I', role);
    begin
        execute format('select coalesce(string_agg(x::text, '' '' order by x::text), '''') from %s as x', v_text) into v_outcome;
    exception
        when others then v_outcome := sqlstate;
    end;
    reset role;
    raise exception using errcode = 'TAP01', message = v_outcome || case when pg_temp.theirs() <> v_before then ', and something of theirs has changed' else '' end;
exception
    when sqlstate 'TAP01' then return sqlerrm;
end;
$$;
-- A scalar function gives its value, as a row of one would.
create temporary table answer as
select c.*, case when o.outcome ~ '^\(.*\)' or o.outcome ~ '^[0-9A-Z]{5}' or o.outcome = '' then o.outcome else '(' || o.outcome || ')' end as outcome, o.outcome as raw
from call as c, lateral (select pg_temp.outcome('tap_narrow', c.statement) as outcome) as o
where c.action = :'action';

select is_empty(
    $$select p.proname from pg_proc as p where p.pronamespace = 'pgbaton'::regnamespace and p.proname !~ '^_' except select name from call$$,
    'every public function is known here: say which action a new one needs, and what it gives who has not got it'
);
select is_empty(
    $$select c.relname from pg_class as c where c.relnamespace = 'pgbaton'::regnamespace and c.relkind = 'v' and c.relname <> 'enqueue_inbox'
      and c.relacl is not null except select name from call$$,
    'and every view'
);
select is_empty(
    'select name, statement, becomes, outcome from answer where outcome not like becomes',
    'a role without the grant is refused, or gets nothing of theirs, and changes nothing'
);
select is_empty(
    $$select name, statement, pg_temp.outcome('tap_member', statement), raw from answer where pg_temp.outcome('tap_member', statement) <> raw$$,
    'a member of the role is narrowed like it'
);
select is_empty(
    $$select name, statement from answer where pg_temp.outcome('tap_free', statement) like 'PB009%'$$, 'a role without any grant is not narrowed'
);
select pgbaton.grant_queue(session_user::name, 'mine', :'action');
select is_empty(
    $$select name, statement from answer where pg_temp.outcome(session_user::name, statement) like 'PB009%'$$, 'a superuser is not narrowed, whatever was granted to it'
);
select pgbaton.revoke_queue(session_user::name, 'mine', :'action');
-- The other actions on theirs are granted: they pass.
create temporary table other_call (name text, action text, statement text);
insert into other_call values
('enqueue_job', 'enqueue', $$pgbaton.enqueue_job('theirs')$$), ('claim_job_batch', 'work', $$pgbaton.claim_job_batch('w', '{theirs}')$$),
('complete_job', 'work', $$pgbaton.complete_job(<active>, null, {active})$$), ('skip_job', 'operate', $$pgbaton.skip_job('theirs', <failed>)$$),
('get_job', 'monitor', $$pgbaton.get_job(<active>)$$);
select is_empty(
    format($$select name, pg_temp.outcome('tap_narrow', statement) from other_call where action <> %L and pg_temp.outcome('tap_narrow', statement) ~ '^[0-9A-Z]{5}(,|$)'$$, :'action'),
    'what is granted on a queue is allowed there'
);
select ok((select count(*) > 5 from answer), 'calls were tried');
select is(pg_temp.outcome('tap_narrow', $$(select granted_queues from pgbaton.granted_queues('$$ || :'action' || $$'))$$), '(mine)', 'granted_queues names the queues of the action');

-- Granted, it is allowed; taken back, it is not.
select pgbaton.grant_queue('tap_narrow', q, :'action') from unnest('{theirs,theirs_fifo}'::text[]) as q;
select is_empty(
    $$select name, statement from answer
      where name not in ('grant_queue', 'revoke_queue', 'pause_schedule', 'run_schedule', 'drop_schedule')
      and pg_temp.outcome('tap_narrow', statement) like 'PB009%'$$,
    'granted on these queues, none of it is PB009, but for what needs all queues'
);
select is(pgbaton.revoke_queue('tap_narrow', 'theirs', :'action'), true, 'revoke_queue says that there was a grant');
select is(pgbaton.revoke_queue('tap_narrow', 'theirs', :'action'), false, 'or that there was none');
select is_empty(
    $$select name, statement, becomes from answer where statement ~ '''theirs''' and becomes = 'PB009' and pg_temp.outcome('tap_narrow', statement) <> 'PB009'$$,
    'and then it is refused again'
);
select is(
    (select count(*)::integer from pgbaton.audit where action in ('grant_queue', 'revoke_queue')), 12, 'grants are audited'
);
-- Upkeep is for all queues, whoever runs it.
select tap.set_now('2031-01-01 00:00+00');
set local role tap_narrow;
select pgbaton.run_maintenance() as done \gset
reset role;
select results_eq(
    format('select last_run_at is not null, %L from pgbaton.list_schedules()', :'done'), $$values (true, '{}')$$,
    'a narrowed role that runs maintenance runs the schedules of all queues, and is not told what was done'
);
