"""Specification c where it needs two sessions: which workers are notified, and by what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

Connection = psycopg.Connection[Any]
END = "the end"


class Sleeper:
    """A worker that has gone to sleep until there is work with its tags."""

    def __init__(self, dsn: str, worker_id: str, tags: list[str]) -> None:
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.worker_id, self.tags = worker_id, tags
        self.channel = self.wait()[0]
        self.conn.execute(sql.SQL("listen {}").format(sql.Identifier(self.channel)))

    def wait(self) -> tuple[Any, ...]:
        row = self.conn.execute(
            "select * from pgbaton.wait_for_jobs(%s, tags => %s)", (self.worker_id, self.tags)
        ).fetchone()
        assert row is not None
        return row

    def heard(self) -> int:
        """How often it was notified until now; then it lies down again.

        A notification of our own ends the list.
        """
        self.conn.execute("select pg_notify(%s, %s)", (self.channel, END))
        count = 0
        for message in self.conn.notifies():
            if message.payload == END:
                break
            count += 1
        if count:
            self.wait()
        return count


@pytest.fixture
def queues(conn: Connection) -> None:
    conn.execute(
        "select pgbaton.create_queue('c', retry_delay => '0', retry_backoff => false),"
        " pgbaton.create_fifo_queue('keys', retry_delay => '0', retry_backoff => false)"
    )


@pytest.fixture
def sleepers(dsn: str, queues: None) -> Iterator[dict[str, Sleeper]]:
    all_of_them = {
        "any": Sleeper(dsn, "any", []),
        "a": Sleeper(dsn, "a", ["a"]),
        "a and b": Sleeper(dsn, "a and b", ["a", "b"]),
        "z": Sleeper(dsn, "z", ["z"]),
    }
    yield all_of_them
    for sleeper in all_of_them.values():
        sleeper.conn.close()


def heard(sleepers: dict[str, Sleeper]) -> dict[str, int]:
    return {name: sleeper.heard() for name, sleeper in sleepers.items()}


def test_enqueueing_notifies_every_worker_with_matching_tags_once(
    conn: Connection, sleepers: dict[str, Sleeper]
) -> None:
    conn.execute("select pgbaton.enqueue_job('c', tags => '{a}')")
    assert heard(sleepers) == {"any": 1, "a": 1, "a and b": 0, "z": 0}


def test_a_batch_notifies_once_for_the_same_tags(
    conn: Connection, sleepers: dict[str, Sleeper]
) -> None:
    conn.execute(
        """select count(*) from pgbaton.enqueue_jobs('c', (
            select jsonb_agg(jsonb_build_object('tags', case when n % 2 = 0 then '["a"]'::jsonb
                else '["a", "b"]' end)) from generate_series(1, 50) as n))"""
    )
    assert heard(sleepers) == {"any": 1, "a": 1, "a and b": 1, "z": 0}


EVENTS = {
    "fail_job": "select pgbaton.fail_job(%(id)s, 'broke', %(token)s)",
    "release_jobs": "select pgbaton.release_jobs(array[%(id)s], %(token)s)",
    "mark_worker_unresponsive": "select pgbaton.mark_worker_unresponsive('w')",
    "reset_running_jobs": "select pgbaton.reset_running_jobs()",
    "recover_stale_jobs": "select pgbaton.recover_stale_jobs('0')",
}


@pytest.mark.parametrize("event", EVENTS)
def test_a_job_that_becomes_eligible_again_notifies(
    conn: Connection, sleepers: dict[str, Sleeper], event: str
) -> None:
    job = claimed(conn, "c", "b", "a")
    heard(sleepers)
    conn.execute(EVENTS[event], job)
    assert heard(sleepers) == {"any": 1, "a": 1, "a and b": 1, "z": 0}


@pytest.mark.parametrize(
    "end",
    [
        "select pgbaton.complete_job(%(id)s, lease_token => %(token)s)",
        "select pgbaton.stop_job(%(id)s, lease_token => %(token)s)",
    ],
)
def test_the_job_that_gets_the_key_notifies(
    conn: Connection, sleepers: dict[str, Sleeper], end: str
) -> None:
    job = claimed(conn, "keys", "a")
    conn.execute("select pgbaton.enqueue_job('keys', singleton_key => 'k', tags => '{z}')")
    assert heard(sleepers)["z"] == 0, "it waits behind the other"
    conn.execute(end, job)
    assert heard(sleepers)["z"] == 1


def test_a_key_and_a_queue_that_are_resumed_notify(
    conn: Connection, sleepers: dict[str, Sleeper]
) -> None:
    conn.execute("select pgbaton.pause_key('keys', 'k')")
    conn.execute("select pgbaton.enqueue_job('keys', singleton_key => 'k', tags => '{z}')")
    heard(sleepers)
    conn.execute("select pgbaton.resume_key('keys', 'k')")
    assert heard(sleepers) == {"any": 1, "a": 0, "a and b": 0, "z": 1}
    conn.execute("select pgbaton.pause_queue('keys')")
    conn.execute("select pgbaton.resume_queue('keys')")
    assert heard(sleepers) == {"any": 1, "a": 0, "a and b": 0, "z": 1}


def test_a_queue_that_gives_up_its_order_notifies(
    conn: Connection, sleepers: dict[str, Sleeper]
) -> None:
    conn.execute("select pgbaton.enqueue_job('keys', singleton_key => 'k', tags => '{a}')")
    conn.execute("select pgbaton.enqueue_job('keys', singleton_key => 'k', tags => '{z}')")
    heard(sleepers)
    conn.execute("select pgbaton.set_fifo_mode('keys', false, force => true)")
    assert heard(sleepers)["z"] == 1


def test_a_worker_does_not_go_to_sleep_over_jobs_that_are_pending(
    conn: Connection, sleepers: dict[str, Sleeper]
) -> None:
    conn.execute("select pgbaton.enqueue_job('c', tags => '{z}')")
    assert sleepers["z"].wait()[1].total_seconds() == 0
    assert sleepers["a"].wait()[1].total_seconds() > 0


def test_nothing_is_notified_when_nobody_sleeps(
    conn: Connection, sleepers: dict[str, Sleeper]
) -> None:
    conn.execute("delete from pgbaton.sleeper")
    conn.execute("select pgbaton.enqueue_job('c', tags => '{a,b,z}')")
    assert heard(sleepers) == {"any": 0, "a": 0, "a and b": 0, "z": 0}


def claimed(conn: Connection, queue: str, *tags: str) -> dict[str, int]:
    conn.execute(
        "select pgbaton.enqueue_job(%s, singleton_key => 'k', tags => %s)", (queue, list(tags))
    )
    row = conn.execute("select id, lease_token from pgbaton.claim_job_batch('w')").fetchone()
    assert row is not None
    return {"id": row[0], "token": row[1]}
