"""Two transactions of strangers never wait for each other, let alone in a circle.

Strangers share a queue, its labels and its topics, but no key, no dedup id, no job and no run. For
each pair of calls, in both orders: the first one's transaction makes its call, the second one's
too, then each the other's labels, and nobody waits. The calls are those of the catalog.
"""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sessions import Session

Open = Callable[[], Session]
Sound = Callable[[], None]
FUNCTIONS = Path(__file__).parents[3] / "functions"
POLICIES = [
    "standard",
    "fifo",
    *(
        pytest.param(p, marks=pytest.mark.proof)
        for p in ("short", "singleton", "stately", "exclusive")
    ),
]


class Stranger:
    """One of the two: what it enqueues and holds is its own, but for the labels.

    Their keys are of different stripes, or producers would wait: see _stripe.
    """

    numbers = itertools.count()

    def __init__(self, which: int, session: Session, db: Session, policy: str) -> None:
        self.which = which
        self.policy = policy
        self.session = session
        self.db = db
        self.labels = ""

    def new_key(self) -> str:
        names = (f"key {next(self.numbers)}" for _ in itertools.count())
        return next(n for n in names if sha256(n.encode()).digest()[0] % 2 == self.which)

    def prepare(self) -> None:
        """Makes and claims four jobs."""
        self.n = next(self.numbers)
        own = f"of {self.n}"
        keys = [self.new_key() for _ in range(4)]
        self.db.rows(
            "select pgbaton.enqueue_batch('q', array_fill('{}'::jsonb, array[4]), %s,"
            " job_type => %s)",
            keys,
            own,
        )
        claimed = self.session.rows(
            "select id, lease_token from pgbaton.claim_job_batch(%s, '{q}', %s)",
            f"w {self.n}",
            [own],
        )
        self.jobs = [job for job, _ in claimed]
        assert len(self.jobs) == 4
        self.token = claimed[0][1]

    def call(self, text: str, **given: Any) -> None:
        values = {
            "labels": self.labels,
            "tags": [self.labels],
            "token": self.token,
            "n": self.n,
            "worker": f"w {self.n}",
            **given,
        }
        if "%(job)s" in text:
            values["job"] = self.jobs.pop(0)
        if "%(key)s" in text:
            values["key"] = self.new_key()
        for name in ("job", "token"):
            text = text.replace(f"%({name})s", f"%({name})s::bigint")
        self.session.rows(text.encode(), **values)  # type: ignore[arg-type]


LABELS = "job_type => %(labels)s, tags => %(tags)s"


def enqueue_jobs(stranger: Stranger) -> None:
    jobs = [
        {
            "job_type": name,
            "tags": [name],
            "dedup_id": stranger.new_key(),
            "singleton_key": stranger.new_key(),
        }
        for name in (stranger.labels, f"{stranger.labels} too")
    ]
    stranger.call("select from pgbaton.enqueue_jobs('q', %(jobs)s)", jobs=json.dumps(jobs))


def stage_and_commit(stranger: Stranger) -> None:
    run = f"run {stranger.n} {stranger.labels}"
    attempt = uuid.uuid4()
    stranger.call(
        "select pgbaton.spark_begin(%(run)s, 1),"
        " pgbaton.spark_stage(%(run)s, %(attempt)s, 0, 1, 'q', '{1}', array[%(key)s],"
        " job_types => array[%(labels)s])",
        run=run,
        attempt=attempt,
    )
    stranger.call(
        "select from pgbaton.spark_commit(%(run)s, array[%(attempt)s]::uuid[], 1)",
        run=run,
        attempt=attempt,
    )


def simply(text: str) -> Callable[[Stranger], None]:
    return lambda stranger: stranger.call(text)


PRODUCING: dict[str, Callable[[Stranger], None]] = {
    "enqueue_job": simply(
        f"select pgbaton.enqueue_job('q', singleton_key => %(key)s, {LABELS},"
        " dedup_id => 'd ' || %(key)s)"
    ),
    "enqueue_job, plain": simply(f"select pgbaton.enqueue_job('plain', {LABELS})"),
    "enqueue_jobs": enqueue_jobs,
    "enqueue_batch": simply(
        f"select pgbaton.enqueue_batch('q', '{{1}}', array[%(key)s], {LABELS})"
    ),
    "publish": simply(f"select pgbaton.publish('topic', '1', %(key)s, {LABELS})"),
    "subscribe": simply("select pgbaton.subscribe('q', 'of.' || %(n)s || %(labels)s)"),
    "unsubscribe": simply("select pgbaton.unsubscribe('q', 'of.' || %(n)s || %(labels)s)"),
    "job_id_of": simply("select pgbaton.job_id_of('q', 'none')"),
    "list_subscriptions": simply("select from pgbaton.list_subscriptions()"),
    "two_phase_backoff": simply("select pgbaton.two_phase_backoff()"),
    "enqueue_inbox": simply(
        "insert into pgbaton.enqueue_inbox (queue, singleton_key, job_type, tags, payload)"
        " values ('q', %(key)s, %(labels)s, %(tags)s, '1')"
    ),
    "spark_stage and spark_commit": stage_and_commit,
}
WORKING: dict[str, Callable[[Stranger], None]] = {
    "acknowledge_cancellation": simply(
        "select pgbaton.cancel_jobs(job_ids => array[%(job)s]),"
        " pgbaton.acknowledge_cancellation(%(job)s, true, %(token)s)"
    ),
    "claim_job_batch": simply("select from pgbaton.claim_job_batch(%(worker)s, '{q,plain}')"),
    "claimed_jobs": simply("select from pgbaton.claimed_jobs(%(token)s)"),
    "complete_and_claim": simply(
        "select from pgbaton.complete_and_claim(array[%(job)s], %(token)s, %(worker)s, '{q,plain}')"
    ),
    "complete_claim": simply("select pgbaton.complete_claim(%(token)s)"),
    "complete_job": simply("select pgbaton.complete_job(%(job)s, lease_token => %(token)s)"),
    "complete_jobs": simply("select from pgbaton.complete_jobs(array[%(job)s], %(token)s)"),
    "extend_leases": simply("select from pgbaton.extend_leases(array[%(job)s], %(token)s)"),
    "fail_job": simply("select pgbaton.fail_job(%(job)s, 'no', %(token)s)"),
    "fail_jobs": simply("select from pgbaton.fail_jobs(array[%(job)s], array['no'], %(token)s)"),
    "mark_job_unknown_stopped": simply("select pgbaton.mark_job_unknown_stopped(%(job)s)"),
    "mark_worker_unresponsive": simply("select pgbaton.mark_worker_unresponsive(%(worker)s)"),
    "parent_outcomes": simply("select from pgbaton.parent_outcomes(%(job)s, %(token)s)"),
    "release_jobs": simply("select from pgbaton.release_jobs(array[%(job)s], %(token)s)"),
    "report_progress": simply("select pgbaton.report_progress(%(job)s, %(token)s, 7)"),
    "start_jobs": simply("select from pgbaton.start_jobs(array[%(job)s], %(token)s)"),
    "stop_job": simply("select pgbaton.stop_job(%(job)s, 'no', %(token)s)"),
    "stop_job_with_retry": simply(
        "select pgbaton.cancel_jobs(job_ids => array[%(job)s]),"
        " pgbaton.stop_job_with_retry(%(job)s, 'no', %(token)s)"
    ),
    "unregister_worker": simply("select pgbaton.unregister_worker(%(worker)s)"),
    "wait_for_jobs": simply("select from pgbaton.wait_for_jobs(%(worker)s, '{q}')"),
    "worker_heartbeat": simply("select pgbaton.worker_heartbeat(%(worker)s)"),
}
CALLS = PRODUCING | WORKING
ALONE = {
    "run_maintenance": "it locks tables, so it has a transaction of its own",
}


def test_each_call_of_producers_and_workers_is_among_them() -> None:
    named = set(ALONE) | {name.split(",")[0] for name in CALLS}
    for audience in ("producer", "worker"):
        assert {path.stem for path in (FUNCTIONS / audience).glob("*.sql")} <= named


@pytest.fixture(params=POLICIES)
def strangers(
    db: Session, open_session: Open, request: pytest.FixtureRequest
) -> tuple[Stranger, Stranger]:
    db.rows("select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy)", request.param)
    db.rows("select pgbaton.create_queue('plain'), pgbaton.subscribe('q', 'topic')")
    db.rows("select pgbaton.run_maintenance()")  # partitions are there
    one, other = open_session(), open_session()
    one.never_waits()
    other.never_waits()
    return Stranger(0, one, db, request.param), Stranger(1, other, db, request.param)


def meet(strangers: tuple[Stranger, Stranger], f: str, g: str) -> None:
    for stranger in strangers:
        stranger.prepare()
        stranger.session.begin()
    first, second = strangers
    ours, theirs = f"labels {first.n}", f"labels {second.n}"
    for stranger, labels, call in (
        (first, ours, f),
        (second, theirs, g),
        (first, theirs, f),
        (second, ours, g),
    ):
        stranger.labels = labels
        try:
            CALLS[call](stranger)
        except psycopg.Error as error:
            raise AssertionError(f"{call} beside {g if call == f else f}: {error}") from error
    for stranger in strangers:
        stranger.session.commit()


def test_producers_and_the_labels_of_each_other(
    strangers: tuple[Stranger, Stranger], sound: Sound
) -> None:
    for f, g in itertools.product(PRODUCING, repeat=2):
        if {f, g} == {"enqueue_inbox"} and strangers[0].policy != "standard":
            continue  # writers of keys through the view take turns: docs/spark.md says why
        meet(strangers, f, g)
    sound()


@pytest.mark.proof
def test_producers_and_workers(strangers: tuple[Stranger, Stranger], sound: Sound) -> None:
    for f, g in itertools.product(CALLS, WORKING):
        meet(strangers, f, g)
        meet(strangers, g, f)
    sound()
