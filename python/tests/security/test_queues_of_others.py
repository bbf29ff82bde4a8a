"""A role that is narrowed to one queue changes, sees and holds up no job of another."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import sql
from sessions import Session

Open = Callable[[], Session]

# Every call that a worker or an operator makes about a job that it knows the id or the token of.
CALLS = {
    "complete_job": "select pgbaton.complete_job(%(job)s, null, %(token)s)",
    "complete_job without a token": "select pgbaton.complete_job(%(job)s)",
    "complete_jobs": "select verdict from pgbaton.complete_jobs(array[%(job)s], %(token)s)",
    "complete_and_claim": "select verdict, queue from pgbaton.complete_and_claim("
    "array[%(job)s], %(token)s, 'mine')",
    "complete_claim": "select pgbaton.complete_claim(%(token)s)",
    "claimed_jobs": "select id from pgbaton.claimed_jobs(%(token)s)",
    "start_jobs": "select verdict from pgbaton.start_jobs(array[%(job)s], %(token)s)",
    "report_progress": "select pgbaton.report_progress(%(job)s, %(token)s, 50)",
    "extend_leases": "select verdict from pgbaton.extend_leases(array[%(job)s], %(token)s)",
    "fail_job": "select pgbaton.fail_job(%(job)s, 'no', %(token)s)",
    "fail_jobs": "select verdict from pgbaton.fail_jobs(array[%(job)s], '{no}', %(token)s)",
    "release_jobs": "select verdict from pgbaton.release_jobs(array[%(job)s], %(token)s)",
    "stop_job": "select pgbaton.stop_job(%(job)s, 'no', %(token)s)",
    "stop_job_with_retry": "select pgbaton.stop_job_with_retry(%(job)s, 'no', %(token)s)",
    "mark_job_unknown_stopped": "select pgbaton.mark_job_unknown_stopped(%(job)s)",
    "acknowledge_cancellation": "select pgbaton.acknowledge_cancellation(%(job)s, true, %(token)s)",
    "worker_heartbeat": "select pgbaton.worker_heartbeat('theirs')",
    "mark_worker_unresponsive": "select pgbaton.mark_worker_unresponsive('theirs')",
    "recover_stale_jobs": "select pgbaton.recover_stale_jobs('0')",
    "claim_job_batch": "select id from pgbaton.claim_job_batch('mine')",
    "cancel_jobs": "select * from pgbaton.cancel_jobs(job_ids => array[%(job)s])",
    "cancel_jobs by tags": "select * from pgbaton.cancel_jobs('{x}')",
    "delete_jobs": "select pgbaton.delete_jobs(job_ids => array[%(job)s])",
    "retry_job": "select pgbaton.retry_job('mine', %(job)s)",
    "retry_jobs": "select pgbaton.retry_jobs('mine')",
    "reschedule_job": "select pgbaton.reschedule_job('mine', %(job)s)",
    "change_priority": "select pgbaton.change_priority('mine', %(job)s, 7)",
    "stop_waiting": "select pgbaton.stop_waiting('mine', %(job)s)",
    "blocked_jobs": "select from pgbaton.blocked_jobs()",
    "job_dependencies": "select pgbaton.job_dependencies(%(job)s)",
    "parent_outcomes": "select pgbaton.parent_outcomes(%(job)s, %(token)s)",
    "enqueue_job after": "select pgbaton.enqueue_job('mine', after => array[%(job)s::bigint])",
    "skip_job": "select pgbaton.skip_job('mine', %(job)s)",
    "delete_job": "select pgbaton.delete_job('mine', %(job)s)",
    "act_on_jobs": "select pgbaton.act_on_jobs('retry', jsonb_build_object('ids', array[%(job)s]))",
    "act_on_jobs cancel": "select pgbaton.act_on_jobs('cancel', '{\"tags\": [\"x\"]}')",
    "act_on_jobs reschedule": "select pgbaton.act_on_jobs('reschedule', '{\"tags\": [\"x\"]}')",
    "act_on_jobs prioritize": "select pgbaton.act_on_jobs('prioritize',"
    " jsonb_build_object('ids', array[%(job)s]), priority => 5)",
    "act_on_jobs erase": "select pgbaton.act_on_jobs('erase', '{\"tags\": [\"x\"]}')",
    "find_jobs": "select job_ids from pgbaton.find_jobs()",
    "find_jobs by id": "select job_ids from pgbaton.find_jobs("
    "jsonb_build_object('ids', array[%(job)s]))",
    "list_jobs": "select id from pgbaton.list_jobs(array[%(job)s])",
    "job_attempts": "select pgbaton.job_attempts(%(job)s)",
    "job_outcomes": "select state from pgbaton.job_outcomes(array[%(job)s])"
    " where state is not null",
    "wait_for_outcomes": "select state from pgbaton.wait_for_outcomes(array[%(job)s], '0')"
    " where state is not null",
    "get_job": "select pgbaton.get_job(%(job)s)",
    "get_dead_job": "select pgbaton.get_dead_job(%(job)s)",
    "requeue_dead_job": "select pgbaton.requeue_dead_job(%(job)s)",
    "delete_dead_job": "select pgbaton.delete_dead_job(%(job)s)",
    "purge_dead_jobs": "select pgbaton.purge_dead_jobs(force => true)",
    "reset_running_jobs": "select pgbaton.reset_running_jobs()",
    "why_not_running": "select pgbaton.why_not_running(%(job)s)",
    "blocked_keys": "select pgbaton.blocked_keys(include_busy => true)",
    "find_blocked_keys": "select job_ids from pgbaton.find_blocked_keys()",
    "list_dead_jobs": "select pgbaton.list_dead_jobs()",
    "get_job_stats": "select (pgbaton.get_job_stats('{x}')).total_jobs",
    "jobs": "select id from pgbaton.jobs where id = %(job)s",
    "live_jobs": "select id from pgbaton.live_jobs where id = %(job)s",
    "list_queues": "select queue from pgbaton.list_queues() where queue <> 'mine'",
}
STATES = ["active", "cancelling", "failed", "completed", "waiting"]


@pytest.fixture
def narrow(db: Session) -> Iterator[str]:
    """A role that may do everything, on the queue mine only."""
    role = f"narrow_{uuid.uuid4().hex[:8]}"
    name = sql.Identifier(role)
    db.rows("select pgbaton.create_queue('mine'), pgbaton.create_queue('theirs')")
    db.rows("select pgbaton.create_fifo_queue('their keys', max_attempts => 1)")
    db.conn.execute(sql.SQL("create role {} in role pgbaton_operator").format(name))
    db.rows(
        "select pgbaton.grant_queue(%s, 'mine', a)"
        " from unnest('{enqueue,work,operate,monitor}'::text[]) as a",
        role,
    )
    yield role
    db.conn.execute(sql.SQL("drop role {}").format(name))


@pytest.fixture
def mallory(open_session: Open, narrow: str) -> Session:
    session = open_session()
    session.conn.execute(sql.SQL("set role {}").format(sql.Identifier(narrow)))
    session.never_waits()
    return session


@dataclass
class Job:
    id: int
    token: int


def job_in(state: str, db: Session) -> Job:
    """A job of theirs, in a FIFO queue so that it holds its key."""
    first = db.enqueue("their keys", "k", tags=["x"])
    job = db.enqueue("their keys", "k", tags=["x"]) if state == "waiting" else first
    [(_, token)] = db.rows(
        "select id, lease_token from pgbaton.claim_job_batch('theirs', '{their keys}')"
    )
    if state == "cancelling":
        db.rows("select pgbaton.cancel_jobs(job_ids => array[%s::bigint])", job)
    elif state == "failed":
        db.rows("select pgbaton.fail_job(%s, 'no', %s)", job, token)
    elif state == "completed":
        db.complete({job: token})
    return Job(job, token)


def all_of(db: Session) -> list[tuple[object, ...]]:
    return db.rows(
        "select 's', to_jsonb(s) from pgbaton.span as s union all"
        " select 'h', to_jsonb(h) from pgbaton.job_history as h union all"
        " select 'r', to_jsonb(r) from pgbaton.job_report as r union all"
        " select 'j', to_jsonb(j) from pgbaton.job as j order by 1, 2"
    )


def answer(session: Session, call: str, job: Job) -> object:
    """What a call says: rows, or the SQLSTATE and message, with the id of the job left out."""
    arguments = {"job": job.id, "token": job.token}
    try:
        cursor = session.conn.execute(call.encode(), arguments)
        said = repr(cursor.fetchall())
    except psycopg.Error as error:
        said = f"{error.sqlstate} {error.diag.message_primary} {error.diag.message_hint}"
    return re.sub(rf"\b({job.id}|{job.token})\b", "IT", said)


@pytest.mark.parametrize("state", STATES)
def test_a_job_of_another_queue_is_like_one_that_never_was(
    db: Session, mallory: Session, state: str
) -> None:
    job = job_in(state, db)
    before = all_of(db)
    nothing = Job(job.id + 10**9, job.token + 10**9)
    for name, call in CALLS.items():
        assert answer(mallory, call, job) == answer(mallory, call, nothing), name
        assert all_of(db) == before, name


@pytest.mark.parametrize("state", ["active", "cancelling", "failed"])
def test_it_neither_waits_for_their_transactions_nor_holds_them_up(
    db: Session, mallory: Session, open_session: Open, state: str
) -> None:
    job = job_in(state, db)
    owner = open_session()
    owner.never_waits()
    finish = {
        "active": "select pgbaton.complete_job(%(job)s, null, %(token)s)",
        "cancelling": "select pgbaton.acknowledge_cancellation(%(job)s, true, %(token)s)",
        "failed": "select pgbaton.skip_job('their keys', %(job)s)",
    }[state]
    for name, call in CALLS.items():
        owner.begin()
        owner.conn.execute(finish.encode(), {"job": job.id, "token": job.token})
        assert not str(answer(mallory, call, job)).startswith("55P03"), name
        owner.rollback()

        mallory.begin()
        answer(mallory, call, job)
        owner.begin()
        owner.conn.execute(finish.encode(), {"job": job.id, "token": job.token})
        owner.rollback()
        mallory.rollback()


def test_a_function_of_a_mightier_owner_does_not_widen_its_caller(
    db: Session, open_session: Open, narrow: str
) -> None:
    """Who is narrowed stays so in a security definer function of somebody who is not."""
    db.rows("create schema app")
    db.rows(
        "create function app.enqueue() returns bigint language sql security definer"
        " as $$ select pgbaton.enqueue_job('theirs') $$"
    )
    session = open_session()
    try:
        db.conn.execute(sql.SQL("grant usage on schema app to {}").format(sql.Identifier(narrow)))
        session.conn.execute(sql.SQL("set role {}").format(sql.Identifier(narrow)))
        assert session.refusal("select app.enqueue()") == "PB009"
        session.rows("reset role")
        assert session.refusal("select app.enqueue()") is None
    finally:
        db.rows("drop schema app cascade")


def test_row_security_of_the_users_tables(db: Session, open_session: Open, narrow: str) -> None:
    """A trigger of a table with policies enqueues; its caller sees no more rows than before."""
    db.rows("create schema app")
    session = open_session()
    try:
        db.rows("create table app.letter (id integer, owner text default current_user)")
        db.rows("alter table app.letter enable row level security, force row level security")
        db.rows("create policy own on app.letter using (owner = current_user)")
        db.rows("insert into app.letter values (1, 'somebody')")
        db.rows(
            "create function app.send() returns trigger language plpgsql as $$ begin"
            " perform pgbaton.enqueue_job('mine', to_jsonb(new)); return new; end $$"
        )
        db.rows(
            "create trigger t after insert on app.letter for each row execute function app.send()"
        )
        for grant in ("usage on schema app", "all on app.letter"):
            db.conn.execute(f"grant {grant} to {narrow}".encode())
        session.conn.execute(sql.SQL("set role {}").format(sql.Identifier(narrow)))
        session.rows("insert into app.letter values (2)")
        assert session.refusal("insert into app.letter values (3, 'somebody')") == "42501"
        assert session.rows("select id from app.letter") == [(2,)]
        session.rows("set row_security = off")
        session.rows("insert into pgbaton.enqueue_inbox (queue) values ('mine')")
        assert len(session.claim("mine")) == 2
        assert session.refusal("select * from app.letter") == "42501"
    finally:
        db.rows("drop schema app cascade")
