"""Notify: a wake-up is a courtesy. Whatever becomes of it, jobs are enqueued, found and run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import psycopg
import pytest
from calls import run_all
from psycopg import sql
from sessions import SECONDS, Session

from pgbaton.embedded import find_bindirs, temporary_server
from pgbaton.install import install

Open = Callable[[], Session]


def listen(worker: Session, name: str, queue: str = "q") -> str:
    """Goes to sleep as a worker does: listen first, then say so. Returns the channel."""
    for _ in range(2):  # the channel is known only afterwards, and always the same
        channel, wait = worker.rows(
            "select channel, wait from pgbaton.wait_for_jobs(%s, array[%s])", name, queue
        )[0]
        worker.conn.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
    assert wait.total_seconds() > 0
    return channel


def notified(worker: Session) -> list[str]:
    """The channels of the first notification; fails when there is none."""
    return [note.channel for note in worker.conn.notifies(timeout=SECONDS, stop_after=1)]


def test_the_listener_is_killed(fifo: Session, open_session: Open) -> None:
    doomed, other = open_session(), open_session()
    listen(doomed, "doomed")
    channel = listen(other, "other")
    fifo.rows("select pg_terminate_backend(%s, 30000)", doomed.pid)
    job = fifo.enqueue("q", "k")
    assert notified(other) == [channel]
    assert run_all(other) == [job]
    # It was notified as well, and is from now on nobody who sleeps.
    assert fifo.rows("select worker_id from pgbaton.sleeper") == []
    assert fifo.enqueue("q", "k")


def test_a_half_open_listener(fifo: Session, open_session: Open) -> None:
    """Its client never reads: the producers are not stopped, and somebody else gets the work."""
    deaf, worker = open_session(), open_session()
    listen(deaf, "deaf")
    fifo.never_waits()
    jobs = [fifo.enqueue("q", "k") for _ in range(300)]
    assert list(worker.claim("q")) == jobs[:1]
    assert fifo.one("select pg_notification_queue_usage()") < 0.01


@pytest.fixture
def small_notify_queue() -> Iterator[Session]:
    """A server of its own whose notification queue is full after half a megabyte."""
    bindir = next(b for b in find_bindirs() if b.major >= 17)
    with temporary_server(bindir, {"max_notify_queue_pages": "64"}) as server:
        install(server.dsn())
        with psycopg.connect(server.dsn(), autocommit=True) as observer:
            db = Session(server.dsn(), observer)
            yield db
            db.close()


def test_the_queue_is_full(small_notify_queue: Session) -> None:
    """A listener in an open transaction holds all of it up. Nobody is woken; work goes on."""
    db = small_notify_queue
    db.rows("select pgbaton.create_fifo_queue('q')")
    with psycopg.connect(db.conn.info.dsn, password=None) as blocker:
        blocker.execute("listen something")
        blocker.commit()
        blocker.execute("select 1")
        listen(db, "w")
        filler = "select pg_notify('something', repeat('x', 7000))"
        while db.refusal(filler) is None:
            pass
        assert db.refusal(filler) == "54000"
        job = db.enqueue("q", "k")
        batch = db.enqueue_batch("q", 2, ["k", "other"])
        claimed = db.claim("q")
        assert list(claimed) == [job, batch[1]]
        listen_again = db.rows("select wait from pgbaton.wait_for_jobs('w', array['q'])")
        assert len(listen_again) == 1
        assert db.complete(claimed) == ["ok", "ok"]  # wakes for the next of key k
        assert (
            db.one("select status from pgbaton.health() where check_name = 'notify queue'") == "bad"
        )
        assert run_all(db) == batch[:1]


@pytest.mark.parametrize("name", ["Mixed Case", "with \"quotes\" and 'these'", "ünïcödé ✓"])
def test_mixed_case_names(db: Session, open_session: Open, name: str) -> None:
    db.rows("select pgbaton.create_queue(%s)", name)
    worker = open_session()
    channel = listen(worker, name, name)
    job = db.enqueue(name)
    assert notified(worker) == [channel]
    assert list(worker.claim(name)) == [job]


def test_a_payload_of_9_kb(fifo: Session, open_session: Open) -> None:
    """More than a notification can carry: it carries none."""
    worker = open_session()
    channel = listen(worker, "w")
    payload = {"text": "x" * 9_000}
    job = fifo.enqueue("q", "k", payload=json.dumps(payload))
    (note,) = worker.conn.notifies(timeout=SECONDS, stop_after=1)
    assert (note.channel, note.payload) == (channel, "")
    assert worker.rows("select id, payload from pgbaton.claim_job_batch('w')") == [(job, payload)]
