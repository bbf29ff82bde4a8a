"""A call of each public function and view, and of how many jobs, keys or rows it is about."""

# ruff: noqa: E501, S608  a call is a line, and all of it is ours
from __future__ import annotations

from dataclasses import dataclass

LIVE = "select count(*) from pgbaton.span"
ENDED = "select count(*) from pgbaton.job_history"
LEASED = "select coalesce(sum(hi - lo + 1), 0) from pgbaton.span where lease_until is not null"
DEAD = "select count(*) from pgbaton.span where state = 'failed'"
DEAD_OF = DEAD + " and queue_id = (select id from pgbaton.queue where name = '{}')"
# The planner reads a small table as a whole rather than by an index.
FEW = 500
RANGE = 800
# It reads a table as a whole rather than by so many probes, and believes that a page has few rows:
# some 26,000 rows of history, which pass four nodes, or 900 reports beside each of 65 jobs.
SMALL_HISTORY = f"select {FEW} + least(30000, count(*)) / 10 from pgbaton.job_history"
SMALL_REPORTS = 1_300
MANY_JOBS = "select 10 * count(*) from pgbaton.job"
LANES = "select 10 + count(*) from pgbaton.lane"
HELD = "select count(*) from pgbaton.span where held_key is not null"
BLOCKED = "select count(*) from pgbaton.span where held_key is not null and not ready"


@dataclass(frozen=True)
class Call:
    """`about`: a number or a query that counts. A call that reads more than it returns says so: its
    comment has a sentence with "reads"."""

    statement: str
    about: int | str = 10
    says_what_it_reads: bool = False
    nearly_empty: int | str | None = None
    """As `about`, where the planner believes that pages have few rows; the comment says so."""


def reads(statement: str, about: str) -> Call:
    return Call(statement, about, says_what_it_reads=True)


# What <name> stands for in the statements.
GIVEN = {
    "dead": "select lo from pgbaton.span where state = 'failed' and queue_id = 1 order by lo offset 5 limit 1",
    "blocked": "select lo from pgbaton.span where state = 'failed' and held_key is not null order by lo offset 1 limit 1",
    "blocked_key": "select held_key from pgbaton.span where state = 'failed' and held_key is not null"
    " order by lo limit 1",
    "done": "select lo from pgbaton.job_history where state = 'completed' order by lo offset 3 limit 1",
    "done_day": "select day from pgbaton.job_history where state = 'completed' order by lo offset 3 limit 1",
    "waiting": "select lo from pgbaton.span where state = 'waiting' and queue_id = (select id from pgbaton.queue where name = 'f') order by lo desc limit 1",
    "held": "select min(child_id) from pgbaton.job_wait",
    "active": "select lo from pgbaton.span where state = 'active' and hi >= lo + 4 order by lo limit 1",
    "token": "select lease_token from pgbaton.span where state = 'active' and hi >= lo + 4 order by lo limit 1",
    "limited": "select min(dedup_id) from pgbaton.dedup",
    "enqueued": "select run_id from pgbaton.enqueue_range order by length(run_id) desc limit 1",
    "run": "select run_id from pgbaton.spark_chunk order by length(run_id) desc limit 1",
    "last_minute": "select jsonb_build_object('xid', max(first_xid::text::bigint), 'at', 0)"
    " from (select pg_current_xact_id() as first_xid) as x",
}

FUNCTIONS = {
    # monitor
    "fifo_stats": reads("select * from pgbaton.fifo_stats('f')", LIVE),
    "job_outcomes": Call("select * from pgbaton.job_outcomes(array[<dead>, <waiting>, 1])", 3),
    "wait_for_outcomes": Call("select * from pgbaton.wait_for_outcomes(array[<dead>], '0')", 1),
    "get_job": Call("select * from pgbaton.get_job(<done>)"),
    "job_dependencies": Call("select * from pgbaton.job_dependencies(<held>)"),
    "job_attempts": reads(
        "select * from pgbaton.job_attempts(<dead>)",
        "select count(*) from pgbaton.job_error where job_id = (select min(lo) from pgbaton.span where state = 'failed')",
    ),
    # 10,000 ranges at most, as its comment says, each through thirteen nodes of a plan.
    "find_jobs": Call('select * from pgbaton.find_jobs(\'{"queue": "s"}\')', 2_900),
    "list_jobs": Call("select * from pgbaton.list_jobs('{<done>,<dead>,<active>}')"),
    "get_job_stats": reads(
        "select * from pgbaton.get_job_stats('{red}')", f"select ({LIVE}) + ({ENDED}) + ({DEAD})"
    ),
    "granted_queues": Call("select * from pgbaton.granted_queues('work')"),
    "health": Call(
        "select * from pgbaton.health()", f"select least(20000, ({DEAD})) + ({LEASED}) + ({LANES})"
    ),
    "job_totals": reads(
        "select * from pgbaton.job_totals(max_age => '0')",
        f"select ({LIVE}) + ({ENDED}) + 2 * ({DEAD})",
    ),
    "kv_get": Call("select * from pgbaton.kv_get('{kv,1}')"),
    "kv_list": Call("select * from pgbaton.kv_list('{kv,1}')"),
    "list_workers": reads("select * from pgbaton.list_workers()", LEASED),
    "live_stats": reads("select * from pgbaton.live_stats()", LIVE),
    "queue_stats": reads("select * from pgbaton.queue_stats()", f"select ({LIVE}) + ({ENDED})"),
    "wake_ups": Call("select * from pgbaton.wake_ups()"),
    # operator
    "find_blocked_keys": Call("select * from pgbaton.find_blocked_keys()", 1_000),
    "list_blocked_keys": Call(
        "select * from pgbaton.list_blocked_keys((pgbaton.find_blocked_keys()).job_ids)", 1_000
    ),
    "blocked_keys": reads("select * from pgbaton.blocked_keys('f')", HELD),
    "cancel_jobs": Call("select * from pgbaton.cancel_jobs(job_ids => '{<waiting>,<active>}')"),
    "cleanup_expired_jobs": reads(
        "select * from pgbaton.cleanup_expired_jobs('2 days 1 hour')",
        "select sum(hi - lo + 1) from pgbaton.job_history",
    ),
    "create_schedule": Call("select * from pgbaton.create_schedule('s2', 'other', '0 1 * * *')"),
    "delete_dead_job": Call("select * from pgbaton.delete_dead_job(<dead>)"),
    "delete_job": Call("select * from pgbaton.delete_job('s', <dead>)"),
    "delete_jobs": Call(
        "select * from pgbaton.delete_jobs(job_ids => '{<dead>,<done>,<blocked>}')"
    ),
    "drop_schedule": Call("select * from pgbaton.drop_schedule('nightly')"),
    "get_blocked_keys": Call("select * from pgbaton.get_blocked_keys('f')", DEAD_OF.format("f")),
    "get_dead_job": Call("select * from pgbaton.get_dead_job(<dead>)"),
    "kv_delete": Call("select * from pgbaton.kv_delete('{kv,1}')"),
    "list_dead_jobs": Call("select * from pgbaton.list_dead_jobs('s', 50)", 50),
    "list_schedules": Call("select * from pgbaton.list_schedules()"),
    "pause_schedule": Call("select * from pgbaton.pause_schedule('nightly')"),
    "purge_dead_jobs": Call(
        "select * from pgbaton.purge_dead_jobs('other')", DEAD_OF.format("other")
    ),
    "recover_stale_jobs": Call("select * from pgbaton.recover_stale_jobs()", LEASED),
    "requeue_dead_job": Call("select * from pgbaton.requeue_dead_job(<dead>)"),
    "reset_fifo_key": Call("select * from pgbaton.reset_fifo_key('f', <blocked_key>, 'because')"),
    "reset_running_jobs": Call(
        "select * from pgbaton.reset_running_jobs()", f"select 2 * ({LEASED})"
    ),
    "retry_job": Call("select * from pgbaton.retry_job('s', <dead>)"),
    "retry_jobs": Call("select * from pgbaton.retry_jobs('other')", DEAD_OF.format("other")),
    "act_on_jobs": Call(
        "select * from pgbaton.act_on_jobs('retry', '{\"queue\": \"other\"}', max_rows => 10)"
    ),
    "run_schedule": Call("select * from pgbaton.run_schedule('nightly')"),
    "list_audit": Call("select * from pgbaton.list_audit()", 50),
    "list_paused_keys": Call("select * from pgbaton.list_paused_keys()", 100),
    "reschedule_job": Call("select * from pgbaton.reschedule_job('f', <waiting>)"),
    "change_priority": Call("select * from pgbaton.change_priority('f', <waiting>, 7)"),
    "blocked_jobs": Call("select * from pgbaton.blocked_jobs()"),
    "stop_waiting": Call("select * from pgbaton.stop_waiting('s', <held>)"),
    "skip_job": Call("select * from pgbaton.skip_job('f', <blocked>)"),
    "why_not_running": Call("select * from pgbaton.why_not_running(<waiting>)"),
    # producer
    "enqueue_batch": Call(
        "select * from pgbaton.enqueue_batch('f', '{1,2}', array['hot', <blocked_key>])"
    ),
    # Of labels that no job had: the lanes of the queue are counted, at most max_lanes.
    "enqueue_job": Call("select * from pgbaton.enqueue_job('s', dedup_id => 'new')", LANES),
    "enqueue_jobs": Call(
        "select * from pgbaton.enqueue_jobs('limited', '[{\"singleton_key\": \"1\"}]')"
    ),
    "job_id_of": Call("select * from pgbaton.job_id_of('limited', <limited>)"),
    "list_subscriptions": Call("select * from pgbaton.list_subscriptions()"),
    "publish": Call("select * from pgbaton.publish('news.now', '{}')"),
    "subscribe": Call("select * from pgbaton.subscribe('other', 'new.#')"),
    "unsubscribe": Call("select * from pgbaton.unsubscribe('other', 'news.#')"),
    # queue
    "create_fifo_queue": Call("select * from pgbaton.create_fifo_queue('n')"),
    "create_queue": Call("select * from pgbaton.create_queue('n')"),
    "drop_queue": reads("select * from pgbaton.drop_queue('empty')", LIVE),
    "grant_queue": Call("select * from pgbaton.grant_queue('pgbaton_worker', 's', 'work')"),
    "list_queue_limits": Call("select * from pgbaton.list_queue_limits()"),
    "list_queues": Call("select * from pgbaton.list_queues()"),
    "pause_key": Call("select * from pgbaton.pause_key('f', 'hot')"),
    "pause_queue": Call("select * from pgbaton.pause_queue('s')"),
    "resume_key": Call("select * from pgbaton.resume_key('f', 'hot')"),
    "resume_queue": Call("select * from pgbaton.resume_queue('s')"),
    "revoke_queue": Call("select * from pgbaton.revoke_queue('pgbaton_worker', 's', 'work')"),
    "set_queue_limits": reads("select * from pgbaton.set_queue_limits('empty', 5)", LIVE),
    "set_fifo_mode": reads("select * from pgbaton.set_fifo_mode('empty', true)", LIVE),
    "update_queue": Call("select * from pgbaton.update_queue('s', description => 'x')"),
    # spark
    "spark_abort": Call("select * from pgbaton.spark_abort(<run>)", 50),
    "spark_begin": Call("select * from pgbaton.spark_begin('run 2', 3)"),
    "spark_commit": Call(
        "select * from pgbaton.spark_commit(<run>, array(select attempt from pgbaton.spark_chunk where run_id = <run>), 50)",
        50,
    ),
    "spark_gc": Call("select * from pgbaton.spark_gc()"),
    "spark_outcomes": Call("select * from pgbaton.spark_outcomes(<enqueued>)", 50),
    "spark_ranges": reads(
        "select * from pgbaton.spark_ranges(<enqueued>)",
        "select count(*) from pgbaton.enqueue_range",
    ),
    "spark_report": reads("select * from pgbaton.spark_report(<enqueued>)", "select 50"),
    "spark_run": Call("select * from pgbaton.spark_run(<run>)"),
    "spark_stage": Call(
        "select * from pgbaton.spark_stage(<run>, gen_random_uuid(), 7, 1, 'other', '{1,2}')"
    ),
    "spark_unended": Call("select * from pgbaton.spark_unended(<enqueued>)", 50),
    # stream
    "ended_jobs": reads(
        "select * from pgbaton.ended_jobs('{}', '<last_minute>', first_id => <done>, last_id => <done>)",
        f"select ({ENDED}) + 10 * ({DEAD})",
    ),
    "ended_jobs_offset": reads(
        "select * from pgbaton.ended_jobs_offset('{}')", f"select ({ENDED}) + 10 * ({DEAD})"
    ),
    "ended_jobs_ranges": reads(
        "select * from pgbaton.ended_jobs_ranges('{}', '<last_minute>')",
        f"select ({ENDED}) + 10 * ({DEAD})",
    ),
    # worker
    "acknowledge_cancellation": Call(
        "select pgbaton.cancel_jobs(job_ids => '{<active>}'), pgbaton.acknowledge_cancellation(<active>, true, <token>)"
    ),
    "claim_job_batch": Call(
        "select * from pgbaton.claim_job_batch('w', '{f,s}', batch_size => 20)",
        LANES,
    ),
    "parent_outcomes": Call("select * from pgbaton.parent_outcomes(<active>, <token>)"),
    "claimed_jobs": Call("select * from pgbaton.claimed_jobs(<token>)"),
    "complete_and_claim": Call(
        "select * from pgbaton.complete_and_claim(array[<active>, <active> + 2], <token>, 'w', '{f,s}',"
        " batch_size => 20)",
        "select 20 + count(*) from pgbaton.lane",
    ),
    "complete_claim": Call("select * from pgbaton.complete_claim(<token>)"),
    "complete_job": Call("select * from pgbaton.complete_job(<active>, '1', <token>)"),
    "complete_jobs": Call(
        "select * from pgbaton.complete_jobs(array[<active>, <active> + 2], <token>)"
    ),
    "extend_leases": Call(
        "select * from pgbaton.extend_leases(array[<active>, <active> + 2], <token>)"
    ),
    "fail_job": Call("select * from pgbaton.fail_job(<active>, 'no', <token>)"),
    "fail_jobs": Call(
        "select * from pgbaton.fail_jobs(array[<active>, <active> + 2], '{no,no}', <token>)"
    ),
    "mark_job_unknown_stopped": Call("select * from pgbaton.mark_job_unknown_stopped(<active>)"),
    "mark_worker_unresponsive": Call("select * from pgbaton.mark_worker_unresponsive('w')", LEASED),
    "release_jobs": Call(
        "select * from pgbaton.release_jobs(array[<active>, <active> + 2], <token>)"
    ),
    "report_progress": Call("select * from pgbaton.report_progress(<active>, <token>, 5)"),
    "run_maintenance": Call(
        "select * from pgbaton.run_maintenance()",
        f"select ({DEAD}) + 3 * ({BLOCKED}) + (select count(distinct (queue_id, singleton_key)) from pgbaton.span) + (select count(*) from pgbaton.lane)",
    ),
    "start_jobs": Call("select * from pgbaton.start_jobs(array[<active>, <active> + 2], <token>)"),
    "stop_job": Call("select * from pgbaton.stop_job(<active>, '', <token>)"),
    "stop_job_with_retry": Call(
        "select pgbaton.cancel_jobs(job_ids => '{<active>}'), pgbaton.stop_job_with_retry(<active>, 'no', <token>)"
    ),
    "unregister_worker": Call("select * from pgbaton.unregister_worker('nobody')", 20),
    "wait_for_jobs": Call("select * from pgbaton.wait_for_jobs('w9', '{empty}')", 20),
    "worker_heartbeat": Call("select * from pgbaton.worker_heartbeat('w')", LEASED),
}
# More ways to call some of them.
FURTHER = {
    "find_jobs, all": Call("select * from pgbaton.find_jobs()", 50),
    "find_jobs, dead letters": Call(
        'select * from pgbaton.find_jobs(\'{"states": ["failed"]}\')', 50
    ),
    "find_jobs, dead letters with an error that none has": Call(
        'select * from pgbaton.find_jobs(\'{"states": ["failed"], "error": "never"}\')', DEAD
    ),
    "find_jobs, an error that none has": Call(
        'select * from pgbaton.find_jobs(\'{"error": "never"}\')', 2_900
    ),
    "find_jobs, a type that no job has": Call(
        'select * from pgbaton.find_jobs(\'{"job_type": "never"}\')',
        "select count(*) from pgbaton.lane",
    ),
    "find_jobs, what runs": Call(
        'select * from pgbaton.find_jobs(\'{"states": ["active"]}\')', LEASED
    ),
    "find_jobs, a payload that none has": reads(
        'select * from pgbaton.find_jobs(\'{"payload": {"no": 1}}\')',
        "select count(*) from pgbaton.job",
    ),
    "find_jobs, days that are not there": Call(
        'select * from pgbaton.find_jobs(\'{"created_before": "2030-02-01"}\')'
    ),
    "find_jobs, ids": Call("select * from pgbaton.find_jobs('{\"ids\": [<dead>, <done>]}')"),
    "list_jobs of a page": Call(
        "select * from pgbaton.list_jobs(array(select g from generate_series(<done>, <done> + 49) as g))",
        50,
    ),
    # These look for jobs of a queue as find_jobs does.
    "act_on_jobs, rescheduled": Call(
        "select * from pgbaton.act_on_jobs('reschedule', '{\"queue\": \"other\"}', max_rows => 10)",
        2_900,
    ),
    "act_on_jobs, prioritized": Call(
        "select * from pgbaton.act_on_jobs('prioritize', '{\"queue\": \"other\"}', max_rows => 10,"
        " priority => 7)",
        2_900,
    ),
    "act_on_jobs, a dry run": Call(
        "select * from pgbaton.act_on_jobs('skip', '{\"queue\": \"s\"}', dry_run => true)", 100
    ),
    "list_audit of a queue": Call("select * from pgbaton.list_audit('f', max_rows => 20)", 20),
    "list_audit of a job": Call("select * from pgbaton.list_audit(job_id => <dead>)"),
    "list_audit, further down": Call("select * from pgbaton.list_audit(before_id => 50)", 50),
    "enqueue_job that replaces one": Call(
        "select pgbaton.enqueue_job('s', dedup_id => 'new', on_duplicate => 'replace')"
        " from generate_series(1, 2)",
        LANES,
    ),
    "enqueue_job that replaces one by its key": Call(
        "select pgbaton.enqueue_job('limited', singleton_key => 'new', on_duplicate => 'replace')"
        " from generate_series(1, 2)"
    ),
    "enqueue_job behind a dead letter of its id": Call(
        "select pgbaton.enqueue_job('limited', singleton_key => 'new', dedup_id => <limited>,"
        " on_duplicate => 'replace', debounce => '1 s')"
    ),
    "enqueue_jobs that replace": Call(
        "select * from pgbaton.enqueue_jobs('f', jsonb_build_array("
        "jsonb_build_object('singleton_key', 'hot', 'dedup_id', 'a', 'on_duplicate', 'replace'),"
        " jsonb_build_object('singleton_key', 'hot', 'dedup_id', 'a', 'on_duplicate', 'replace')))"
    ),
    "enqueue_job of known labels": Call(
        "select * from pgbaton.enqueue_job('s', job_type => 'plain', tags => '{red}')"
    ),
    "kv_list of a part": Call("select * from pgbaton.kv_list(array['kv', <limited>])"),
    "list_dead_jobs of all queues": Call(
        "select * from pgbaton.list_dead_jobs(null, 20)", "select 20 * count(*) from pgbaton.queue"
    ),
    "list_dead_jobs, the second page": Call(
        "select * from pgbaton.list_dead_jobs('s', 20, 20)", 40
    ),
    "purge_dead_jobs of all queues": Call(
        "select * from pgbaton.purge_dead_jobs(force => true)", DEAD
    ),
    "retry_jobs of an error": Call(
        "select * from pgbaton.retry_jobs('s', '{\"error\": \"never\"}')", DEAD_OF.format("s")
    ),
    "retry_jobs of a key": Call(
        "select * from pgbaton.retry_jobs('limited', '{\"singleton_key\": \"1\"}')",
        DEAD_OF.format("limited"),
    ),
    "blocked_keys with busy ones": reads("select * from pgbaton.blocked_keys('f', true)", LIVE),
    "blocked_keys of all queues": reads("select * from pgbaton.blocked_keys()", HELD),
    "cancel_jobs by tags": Call("select * from pgbaton.cancel_jobs('{t1}')", LIVE),
    "delete_jobs by tags": Call(
        "select * from pgbaton.delete_jobs('{nowhere}')", f"select ({LIVE}) + ({ENDED})"
    ),
    "live_stats up to 20": Call(
        "select * from pgbaton.live_stats(most => 20)",
        f"select 5 * 20 * (select count(*) from pgbaton.queue) + ({LEASED}) + ({LANES})",
    ),
    "find_blocked_keys, the second page": Call(
        "select * from pgbaton.find_blocked_keys('f', max_rows => 1,"
        " after => (pgbaton.find_blocked_keys('f', max_rows => 1)).next_after)",
        2_000,
    ),
    "find_blocked_keys, a key that none has": Call(
        "select * from pgbaton.find_blocked_keys(key_part => 'nowhere')", 1_000
    ),
    "live_stats of a queue": reads("select * from pgbaton.live_stats('f')", LIVE),
    "cleanup_expired_jobs of nothing": reads(
        "select * from pgbaton.cleanup_expired_jobs('20 days')", ENDED
    ),
    "recover_stale_jobs by age": Call("select * from pgbaton.recover_stale_jobs('1 hour')", LEASED),
    "get_job of a dead letter": Call("select * from pgbaton.get_job(<dead>)"),
    "spark_gc of a day": Call("select * from pgbaton.spark_gc()"),
}
NOT_CONCERNED = {
    "version": "it reads nothing",
    "two_phase_backoff": "it reads nothing",
    "enqueue_inbox_rows": "a trigger: the view enqueue_inbox calls it",
    "requires_key": "a trigger or a look at one row",
    "note_enqueue_counts": "a trigger of one row by its key",
}
VIEWS = {
    "live_jobs": Call("select * from pgbaton.live_jobs where id = <dead>", FEW),
    "finished_jobs": Call(
        "select * from pgbaton.finished_jobs where id = <done>", FEW, nearly_empty=SMALL_HISTORY
    ),
    "jobs": Call("select * from pgbaton.jobs where id = <done>", FEW, nearly_empty=SMALL_HISTORY),
    "long_blocked_keys": Call(
        "select * from pgbaton.long_blocked_keys", "select count(*) from pgbaton.key_block"
    ),
    "enqueue_inbox": Call(
        "insert into pgbaton.enqueue_inbox (queue, payload) values ('s', '1')", LANES
    ),
}
FURTHER_VIEWS = {
    "live_jobs by range": Call("select * from pgbaton.live_jobs where range_id = <dead>", RANGE),
    "jobs by range": Call(
        "select * from pgbaton.jobs where range_id between <done> and <done> + 64",
        RANGE,
        nearly_empty=SMALL_REPORTS,
    ),
    "jobs of a range that ended": Call(
        "select * from pgbaton.finished_jobs where range_id >= <done> and range_id < <done> + 64",
        RANGE,
    ),
    "live_jobs of a queue": Call(
        "select * from pgbaton.live_jobs where queue = 'again'", MANY_JOBS
    ),
    "finished_jobs of a queue": Call(
        "select * from pgbaton.finished_jobs where queue = 'other'",
        MANY_JOBS,
    ),
    "all jobs": Call("select * from pgbaton.jobs", MANY_JOBS),
}
