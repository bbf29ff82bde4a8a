"""One or more ways to make each public call that writes, for matrices of calls.

A scene is a queue with a key in each state (see `SCENE`). A new public function that writes fails
`test_every_call_that_writes_has_a_recipe` until it stands in `RECIPES` or, with a reason, in
`LEFT_OUT`.
"""

from __future__ import annotations

from typing import Any

import psycopg

# The keys of a scene and what their jobs do in a FIFO queue; other policies have what they allow.
#   idle    nothing            run    one is running, one waits     next  one may run, one waits
#   dead    one failed, one waits     later  one is retried in an hour, one waits
#   paused  one would run, one waits  stop   one is being cancelled   held  as run, and paused
SCENE = """
create function public.scene(queue text, policy pgbaton.queue_policy, blocks boolean)
returns jsonb language plpgsql as $$
declare
    v_ids jsonb;
    v_key text;
    v_run record;
    v_dead record;
    v_later record;
    v_stop record;
    v_held record;
    v_first record;
    v_second record;
begin
    perform pgbaton.create_queue(
        queue, policy, (case when blocks then 'block' else 'continue' end)::pgbaton.on_exhausted,
        retry_backoff => false, retry_delay => '0', lease => '1 hour'
    );
    perform pgbaton.create_queue(queue || ' beside');
    v_ids := jsonb_build_object(
        'queue', queue, 'beside', queue || ' beside', 'worker', 'w ' || queue,
        'twice', null, 'twice_token', null, 'again', null
    );
    foreach v_key in array array['run', 'dead', 'later', 'stop', 'held'] loop
        perform pgbaton.enqueue_job(queue, '1', singleton_key => v_key, tags => array[v_key]);
    end loop;
    select * into v_run
    from pgbaton.claim_job_batch('w ' || queue, array[queue], tags => '{run}');
    select * into v_dead
    from pgbaton.claim_job_batch('w ' || queue, array[queue], tags => '{dead}');
    perform pgbaton.fail_job(v_dead.id, 'no', v_dead.lease_token, false);
    select * into v_later
    from pgbaton.claim_job_batch('w ' || queue, array[queue], tags => '{later}');
    perform pgbaton.fail_job(v_later.id, 'no', v_later.lease_token, true, '1 hour');
    select * into v_stop
    from pgbaton.claim_job_batch('w ' || queue, array[queue], tags => '{stop}');
    perform pgbaton.cancel_jobs(job_ids => array[v_stop.id]);
    select * into v_held
    from pgbaton.claim_job_batch('w ' || queue, array[queue], tags => '{held}');
    v_ids := v_ids || jsonb_build_object(
        'run', v_run.id, 'token', v_run.lease_token, 'dead', v_dead.id, 'later', v_later.id,
        'stop', v_stop.id, 'stop_token', v_stop.lease_token,
        'held', v_held.id, 'held_token', v_held.lease_token,
        'next', pgbaton.enqueue_job(queue, '1', singleton_key => 'next', dedup_id => 'next'),
        'paused', pgbaton.enqueue_job(queue, '1', singleton_key => 'paused'),
        'behind', (
            select e.job_id
            from pgbaton.enqueue_jobs(queue, '[{"payload": 2, "singleton_key": "next"}]') as e
        )
    );
    perform pgbaton.enqueue_jobs(queue, (
        select jsonb_agg(jsonb_build_object('payload', 2, 'singleton_key', k))
        from unnest(array['run', 'dead', 'later', 'paused', 'held']) as k
    ));
    if policy in ('fifo', 'singleton', 'stately') then
        perform pgbaton.pause_key(queue, 'paused'), pgbaton.pause_key(queue, 'held');
    end if;
    if policy = 'stately' then
        -- One runs for the second time while another one that was tried waits in line.
        perform pgbaton.enqueue_job(queue, '1', singleton_key => 'twice', tags => '{twice}');
        select * into v_first
    from pgbaton.claim_job_batch('w ' || queue, array[queue], tags => '{twice}');
        perform pgbaton.fail_job(v_first.id, 'no', v_first.lease_token, true, '1 hour');
        perform pgbaton.enqueue_job(queue, '2', singleton_key => 'twice', tags => '{twice}');
        select * into v_second
    from pgbaton.claim_job_batch('w ' || queue, array[queue], tags => '{twice}');
        perform pgbaton.fail_job(v_second.id, 'no', v_second.lease_token);
        update pgbaton.span as s set run_at = clock_timestamp() where s.lo = v_first.id;
        perform set_config('pgbaton.tended_at', '', false);
        select * into v_first
    from pgbaton.claim_job_batch('w ' || queue, array[queue], tags => '{twice}');
        v_ids := v_ids || jsonb_build_object(
            'twice', v_first.id, 'twice_token', v_first.lease_token, 'again', v_second.id
        );
        perform pgbaton.retry_job(queue, v_second.id);
    end if;
    perform pgbaton.enqueue_job(queue || ' beside', '1', dedup_id => 'known');
    perform pgbaton.subscribe(queue, 'topic of ' || queue);
    perform pgbaton.create_schedule(
        'schedule of ' || queue, queue, '0 0 1 1 *', singleton_key => 'next'
    );
    perform pgbaton.spark_stage(
        'run of ' || queue, v_attempt.id, 0, 0, queue, '{3,4}'::jsonb[], '{idle,next}'
    ) from (select md5(queue)::uuid as id) as v_attempt;
    return v_ids || jsonb_build_object('attempt', md5(queue)::uuid);
end
$$;
"""

SCENE += """
create function public.clear() returns void language plpgsql as $$
declare
    v_table regclass;
begin
    for v_table in
        select c.oid from pg_class as c
        where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p')
            and not c.relispartition and c.relname <> 'watermark'
        order by c.relname = 'queue'  -- the others refer to it
    loop
        execute format('delete from %s', v_table);
    end loop;
end
$$;
"""

# By function, what tells the ways apart and the call.
RECIPES: dict[str, dict[str, str]] = {
    # Producers; what f enqueues is payload 5, what g does is 6.
    "enqueue_job": {
        "idle key": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'idle')",
        "running key": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'run')",
        "next key": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'next')",
        "dead key": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'dead')",
        "paused key": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'paused')",
        "later": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'idle',"
        " delay => '1 hour')",
        "dedup id": "select pgbaton.enqueue_job(%(beside)s, %(n)s, dedup_id => 'known',"
        " on_duplicate => 'skip')",
        "new dedup id": "select pgbaton.enqueue_job(%(beside)s, %(n)s, dedup_id => 'new',"
        " on_duplicate => 'skip')",
        "replaced by id": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'next',"
        " dedup_id => 'next', on_duplicate => 'replace')",
        "replaced by id, other key": "select pgbaton.enqueue_job(%(queue)s, %(n)s,"
        " singleton_key => 'idle', dedup_id => 'next', on_duplicate => 'replace')",
        "replaced by key": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'next',"
        " on_duplicate => 'replace')",
        "replaced, running key": "select pgbaton.enqueue_job(%(queue)s, %(n)s,"
        " singleton_key => 'run', dedup_id => 'new', on_duplicate => 'replace')",
        "replaced, put off": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'next',"
        " dedup_id => 'next', on_duplicate => 'replace', debounce => '1 hour')",
        "new lane": "select pgbaton.enqueue_job(%(queue)s, %(n)s, singleton_key => 'idle',"
        " tags => '{new}')",
        "no key": "select pgbaton.enqueue_job(%(beside)s, %(n)s)",
    },
    "enqueue_batch": {
        "keys": "select pgbaton.enqueue_batch(%(queue)s, array[%(n)s, %(n)s, %(n)s]::jsonb[],"
        " '{idle,next,run}')",
        "no keys": "select pgbaton.enqueue_batch(%(beside)s, array[%(n)s, %(n)s]::jsonb[])",
    },
    "enqueue_jobs": {
        "keys": "select pgbaton.enqueue_jobs(%(queue)s, jsonb_build_array("
        "jsonb_build_object('payload', %(n)s::jsonb, 'singleton_key', 'idle'),"
        "jsonb_build_object('payload', %(n)s::jsonb, 'singleton_key', 'next')))",
        "dedup ids": "select pgbaton.enqueue_jobs(%(beside)s, jsonb_build_array("
        "jsonb_build_object('dedup_id', 'known'), jsonb_build_object('dedup_id', 'new')))",
        "replaced": "select pgbaton.enqueue_jobs(%(queue)s, jsonb_build_array("
        "jsonb_build_object('payload', %(n)s::jsonb, 'singleton_key', 'next',"
        " 'dedup_id', 'next', 'on_duplicate', 'replace'),"
        "jsonb_build_object('payload', %(n)s::jsonb, 'singleton_key', 'run',"
        " 'dedup_id', 'new', 'on_duplicate', 'replace')))",
    },
    "publish": {
        "": "select pgbaton.publish('topic of ' || %(queue)s, %(n)s, singleton_key => 'idle')",
    },
    "subscribe": {"": "select pgbaton.subscribe(%(queue)s, 'topic')"},
    "unsubscribe": {"": "select pgbaton.unsubscribe(%(queue)s, 'topic of ' || %(queue)s)"},
    # Workers
    "claim_job_batch": {
        "of the queue": "select id, singleton_key from pgbaton.claim_job_batch(%(worker)s,"
        " array[%(queue)s, %(beside)s], batch_size => 100)",
        "of all": "select id, singleton_key from pgbaton.claim_job_batch(%(worker)s,"
        " batch_size => 100)",
        "one": "select id, singleton_key from pgbaton.claim_job_batch(%(worker)s,"
        " array[%(queue)s], batch_size => 1)",
    },
    "complete_job": {
        "": "select pgbaton.complete_job(%(run)s, lease_token => %(token)s)",
        "result": "select pgbaton.complete_job(%(run)s, '1', %(token)s)",
        "paused key": "select pgbaton.complete_job(%(held)s, lease_token => %(held_token)s)",
    },
    "complete_jobs": {"": "select pgbaton.complete_jobs(array[%(run)s], %(token)s)"},
    "complete_and_claim": {
        "": "select id, singleton_key from pgbaton.complete_and_claim(array[%(run)s], %(token)s,"
        " %(worker)s, array[%(queue)s], batch_size => 1)",
        "result": "select id, singleton_key from pgbaton.complete_and_claim(array[%(run)s],"
        " %(token)s, %(worker)s, batch_size => 100, results => '{1}')",
        "refused": "select id, singleton_key from pgbaton.complete_and_claim(array[%(dead)s],"
        " %(token)s, %(worker)s, array[%(queue)s, %(beside)s])",
    },
    "complete_claim": {"": "select pgbaton.complete_claim(%(token)s)"},
    "fail_job": {
        "retry": "select pgbaton.fail_job(%(run)s, 'no', %(token)s)",
        "retry later": "select pgbaton.fail_job(%(run)s, 'no', %(token)s, true, '1 hour')",
        "for good": "select pgbaton.fail_job(%(run)s, 'no', %(token)s, false)",
        "paused key": "select pgbaton.fail_job(%(held)s, 'no', %(held_token)s)",
        "twice": "select pgbaton.fail_job(%(twice)s, 'no', %(twice_token)s)",
    },
    "fail_jobs": {"": "select pgbaton.fail_jobs(array[%(run)s], '{no}', %(token)s)"},
    "release_jobs": {
        "": "select pgbaton.release_jobs(array[%(run)s], %(token)s)",
        "later": "select pgbaton.release_jobs(array[%(run)s], %(token)s, '1 hour')",
        "twice": "select pgbaton.release_jobs(array[%(twice)s::bigint], %(twice_token)s)",
    },
    "stop_job": {"": "select pgbaton.stop_job(%(run)s, 'no', %(token)s)"},
    "stop_job_with_retry": {
        "": "select pgbaton.stop_job_with_retry(%(stop)s, 'no', %(stop_token)s)"
    },
    "mark_job_unknown_stopped": {"": "select pgbaton.mark_job_unknown_stopped(%(run)s)"},
    "acknowledge_cancellation": {
        "": "select pgbaton.acknowledge_cancellation(%(stop)s, true, %(stop_token)s)"
    },
    "extend_leases": {"": "select pgbaton.extend_leases(array[%(run)s], %(token)s)"},
    "start_jobs": {"": "select pgbaton.start_jobs(array[%(run)s], %(token)s)"},
    "report_progress": {"": "select pgbaton.report_progress(%(run)s, %(token)s, 50)"},
    "worker_heartbeat": {"": "select pgbaton.worker_heartbeat(%(worker)s)"},
    "unregister_worker": {"": "select pgbaton.unregister_worker(%(worker)s)"},
    "mark_worker_unresponsive": {"": "select pgbaton.mark_worker_unresponsive(%(worker)s)"},
    "recover_stale_jobs": {"": "select pgbaton.recover_stale_jobs('0', %(queue)s)"},
    "run_maintenance": {"": "select pgbaton.run_maintenance()"},
    "wait_for_jobs": {"": "select pgbaton.wait_for_jobs(%(worker)s, array[%(queue)s])"},
    # Operators
    "cancel_jobs": {
        "first": "select pgbaton.cancel_jobs(job_ids => array[%(next)s])",
        "behind": "select pgbaton.cancel_jobs(job_ids => array[%(behind)s::bigint])",
        "running": "select pgbaton.cancel_jobs(job_ids => array[%(run)s])",
        "tags": "select pgbaton.cancel_jobs('{later}')",
    },
    "cleanup_expired_jobs": {"": "select pgbaton.cleanup_expired_jobs('1 microsecond')"},
    "create_schedule": {
        "": "select pgbaton.create_schedule('schedule of ' || %(queue)s, %(queue)s, '0 0 2 1 *',"
        " singleton_key => 'next')"
    },
    "drop_schedule": {"": "select pgbaton.drop_schedule('schedule of ' || %(queue)s)"},
    "pause_schedule": {"": "select pgbaton.pause_schedule('schedule of ' || %(queue)s)"},
    "delete_dead_job": {"": "select pgbaton.delete_dead_job(%(dead)s)"},
    "delete_job": {
        "first": "select pgbaton.delete_job(%(queue)s, %(next)s)",
        "behind": "select pgbaton.delete_job(%(queue)s, %(behind)s::bigint)",
        "later": "select pgbaton.delete_job(%(queue)s, %(later)s)",
    },
    "delete_jobs": {"": "select pgbaton.delete_jobs(job_ids => array[%(dead)s])"},
    "kv_delete": {"": "select pgbaton.kv_delete('{a}')"},
    "purge_dead_jobs": {"": "select pgbaton.purge_dead_jobs(%(queue)s, true)"},
    "requeue_dead_job": {"": "select pgbaton.requeue_dead_job(%(dead)s)"},
    "reset_fifo_key": {
        "idle": "select pgbaton.reset_fifo_key(%(queue)s, 'idle', 'why')",
        "run": "select pgbaton.reset_fifo_key(%(queue)s, 'run', 'why')",
        "dead": "select pgbaton.reset_fifo_key(%(queue)s, 'dead', 'why')",
        "later": "select pgbaton.reset_fifo_key(%(queue)s, 'later', 'why')",
    },
    "reset_running_jobs": {"": "select pgbaton.reset_running_jobs(%(queue)s)"},
    "retry_job": {"": "select pgbaton.retry_job(%(queue)s, %(dead)s)"},
    "retry_jobs": {"": "select pgbaton.retry_jobs(%(queue)s)"},
    "act_on_jobs": {
        action: f"select pgbaton.act_on_jobs('{action}',"
        f" jsonb_build_object('queue', %(queue)s::text){more})"
        for action, more in {
            "retry": "",
            "skip": "",
            "requeue": "",
            "reschedule": "",
            "prioritize": ", priority => 50",
            "cancel": "",
            "delete": "",
            "erase": "",
        }.items()
    },
    "run_schedule": {"": "select pgbaton.run_schedule('schedule of ' || %(queue)s)"},
    "reschedule_job": {
        "next, later": "select pgbaton.reschedule_job(%(queue)s, %(next)s, '2100-01-01')",
        "behind, later": "select pgbaton.reschedule_job(%(queue)s, %(behind)s, '2100-01-01')",
        "later, now": "select pgbaton.reschedule_job(%(queue)s, %(later)s)",
    },
    "stop_waiting": {
        "": "select pgbaton.stop_waiting(%(queue)s, pgbaton.enqueue_job(%(queue)s, %(n)s,"
        " singleton_key => 'idle', after => array[%(run)s::bigint]))"
    },
    "change_priority": {
        "next": "select pgbaton.change_priority(%(queue)s, %(next)s, 200)",
        "behind": "select pgbaton.change_priority(%(queue)s, %(behind)s, 200)",
        "later": "select pgbaton.change_priority(%(queue)s, %(later)s, 200)",
    },
    "skip_job": {"": "select pgbaton.skip_job(%(queue)s, %(dead)s)"},
    # Queues
    "create_queue": {"": "select pgbaton.create_queue(%(queue)s)"},
    "create_fifo_queue": {"": "select pgbaton.create_fifo_queue(%(queue)s)"},
    "drop_queue": {
        "forced": "select pgbaton.drop_queue(%(queue)s, true)",
        "": "select pgbaton.drop_queue(%(beside)s)",
        "and made again": "select pgbaton.drop_queue(%(queue)s, true),"
        " pgbaton.create_fifo_queue(%(queue)s, lease => '1 hour')",
    },
    "update_queue": {
        "continue": "select pgbaton.update_queue(%(queue)s, on_exhausted => 'continue')",
        "block": "select pgbaton.update_queue(%(queue)s, on_exhausted => 'block')",
        "policy": "select pgbaton.update_queue(%(beside)s, 'fifo')",
        "lease": "select pgbaton.update_queue(%(queue)s, lease => '1 minute')",
    },
    "set_queue_limits": {
        "": "select pgbaton.set_queue_limits(%(queue)s, 1000, null, 1000000, '1 hour')",
        "none": "select pgbaton.set_queue_limits(%(queue)s)",
        "of keys": "select pgbaton.set_queue_limits("
        "%(queue)s, key_rate_count => 100, key_rate_interval => '1 s')",
    },
    "set_fifo_mode": {
        "off": "select pgbaton.set_fifo_mode(%(queue)s, false, true)",
        "on": "select pgbaton.set_fifo_mode(%(queue)s, true)",
    },
    "pause_key": {
        "idle": "select pgbaton.pause_key(%(queue)s, 'idle')",
        "next": "select pgbaton.pause_key(%(queue)s, 'next')",
        "run": "select pgbaton.pause_key(%(queue)s, 'run')",
    },
    "resume_key": {
        "": "select pgbaton.resume_key(%(queue)s, 'paused')",
        "running": "select pgbaton.resume_key(%(queue)s, 'held')",
    },
    "pause_queue": {"": "select pgbaton.pause_queue(%(queue)s)"},
    "resume_queue": {"": "select pgbaton.resume_queue(%(queue)s)"},
    "grant_queue": {"": "select pgbaton.grant_queue('pgbaton_monitor', %(queue)s, 'monitor')"},
    "revoke_queue": {"": "select pgbaton.revoke_queue('pgbaton_monitor', %(queue)s, 'monitor')"},
    # Spark
    "spark_begin": {"": "select pgbaton.spark_begin('other run of ' || %(queue)s, 2)"},
    "spark_stage": {
        "": "select pgbaton.spark_stage('run of ' || %(queue)s, gen_random_uuid(), 0, 0, %(queue)s,"
        " '{7}'::jsonb[], '{idle}')"
    },
    "spark_commit": {
        "": "select pgbaton.spark_commit('run of ' || %(queue)s, array[%(attempt)s::uuid], 2)"
    },
    "spark_abort": {"": "select pgbaton.spark_abort('run of ' || %(queue)s)"},
    "spark_gc": {"": "select pgbaton.spark_gc()"},
    "enqueue_inbox": {
        "": "insert into pgbaton.enqueue_inbox (queue, payload, singleton_key)"
        " values (%(queue)s, %(n)s, 'idle'), (%(queue)s, %(n)s, 'next')",
        "dedup": "insert into pgbaton.enqueue_inbox (queue, payload, dedup_id, run_id, part, parts)"
        " values (%(beside)s, %(n)s, 'new', 'inbox of ' || %(queue)s, 0, 1)",
    },
    "job_totals": {"": "select pgbaton.job_totals(max_age => '0')"},
}

# Ends all that is left of a scene, as workers and an operator would, and returns what was
# completed: an array of [key, payload] in that order. Each call is a transaction of its own.
DRAIN = """
create procedure public.drain(queues text[], inout completed jsonb)
language plpgsql as $$
declare
    v_queue text;
    v_row record;
    v_claimed jsonb;
    v_twice text;
    v_token bigint;
    v_ids integer[] := array(select q.id from pgbaton.queue as q where q.name = any (queues));
begin
    completed := '[]';
    queues := array(select q.name from pgbaton.queue as q where q.name = any (queues));
    foreach v_queue in array queues loop
        perform pgbaton.resume_queue(v_queue);
        perform pgbaton.resume_key(v_queue, k.singleton_key) from pgbaton.paused_key as k
        where k.queue_id = (select q.id from pgbaton.queue as q where q.name = v_queue);
        commit;
        perform pgbaton.reset_running_jobs(v_queue);
        commit;
    end loop;
    update pgbaton.span as s set run_at = clock_timestamp() - interval '1 ms'
    where s.run_at > clock_timestamp() and s.queue_id = any (v_ids);
    commit;
    for i in 1 .. 30 loop
        exit when queues = '{}';
        select jsonb_agg(jsonb_build_array(c.singleton_key, c.payload)), min(c.lease_token)
        into v_claimed, v_token
        from pgbaton.claim_job_batch('drain', queues, batch_size => 100) as c;
        commit;
        if v_claimed is null then
            select q.name as queue, s.lo into v_row
            from pgbaton.span as s inner join pgbaton.queue as q on q.id = s.queue_id
            where s.state = 'failed' and q.name = any (queues) limit 1;
            exit when not found;
            perform pgbaton.skip_job(v_row.queue, v_row.lo);
            commit;
            continue;
        end if;
        select c.item ->> 0 into v_twice from jsonb_array_elements(v_claimed) as c (item)
        where c.item ->> 0 is not null and exists (
            select from pgbaton.queue as q where q.name = any (queues) and q.policy = 'fifo'
        )
        group by 1 having count(*) > 1;
        if v_twice is not null then
            raise exception 'one claim has several jobs of key %: %', v_twice, v_claimed;
        end if;
        perform pgbaton.complete_claim(v_token);
        commit;
        completed := completed || v_claimed;
    end loop;
    if exists (select from pgbaton.span as s where s.queue_id = any (v_ids)) then
        raise exception 'not drained: %', (
            select jsonb_agg(to_jsonb(s)) from pgbaton.span as s where s.queue_id = any (v_ids)
        );
    elsif exists (select from pgbaton.baton_release as r where r.queue_id = any (v_ids)) then
        raise exception 'a baton lies about';
    end if;
end
$$;
"""

LEFT_OUT = {
    "ended_jobs_offset": "reads",
    "get_job": "reads",
    "job_attempts": "reads",
    "wait_for_outcomes": "reads",
    "why_not_running": "reads",
}


def writing_functions(conn: psycopg.Connection[Any]) -> set[str]:
    """The public functions that may write."""
    found = conn.execute(
        "select distinct p.proname from pg_proc as p"
        " where p.pronamespace = 'pgbaton'::regnamespace and p.provolatile = 'v'"
        " and p.proname !~ '^_' and p.prorettype <> 'trigger'::regtype"
    ).fetchall()
    return {name for (name,) in found}


def calls() -> list[tuple[str, str]]:
    """Each way to call each function: what it is and its statement."""
    return [
        (f"{function} {way}".strip(), statement)
        for function, ways in RECIPES.items()
        for way, statement in ways.items()
    ]
