"""The connection breaks between the commit and its reply; what repeating the call does then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from invariants import assert_sound
from proof import record
from proxy import Proxy, proxy_to
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgbaton import Client, DuplicateJob, InvalidState, LeaseLost

Connection = psycopg.Connection[Any]


@pytest.fixture
def proxy(dsn: str) -> Iterator[Proxy]:
    with proxy_to(int(str(conninfo_to_dict(dsn)["port"]))) as between:
        yield between


@pytest.fixture
def client(dsn: str, proxy: Proxy) -> Iterator[Client]:
    with Client(make_conninfo(dsn, host="127.0.0.1", port=proxy.port, sslmode="disable")) as own:
        own.create_queue("mail", max_attempts=5, lease="1 hour")
        own.create_fifo_queue("orders")
        yield own


@pytest.fixture
def lost(client: Client, proxy: Proxy, conn: Connection) -> Iterator[Callable[[Any], None]]:
    """Makes a call of which the server's reply is lost."""

    def lose(call: Callable[[], object]) -> None:
        proxy.lose_next_reply()
        with pytest.raises(psycopg.OperationalError):
            call()

    yield lose
    assert proxy.lost > 0
    assert_sound(conn)


def jobs(conn: Connection) -> int:
    return conn.execute("select count(*) from pgbaton.job").fetchone()[0]  # type: ignore[index]


def test_enqueue_with_a_dedup_id_is_not_doubled(
    client: Client, lost: Callable[[Any], None], conn: Connection
) -> None:
    lost(lambda: client.enqueue_job("orders", singleton_key="a", dedup_id="payment 1"))
    with pytest.raises(DuplicateJob):
        client.enqueue_job("orders", singleton_key="a", dedup_id="payment 1")
    again = {"singleton_key": "a", "dedup_id": "payment 1", "on_duplicate": "skip"}
    job_id = client.enqueue_job("orders", **again)  # type: ignore[arg-type]
    assert job_id == client.job_id_of("orders", "payment 1")
    assert jobs(conn) == 1
    record("lost_reply_enqueue", crashes_injected=1)


def test_many_with_dedup_ids_are_not_doubled(
    client: Client, lost: Callable[[Any], None], conn: Connection
) -> None:
    some = [{"dedup_id": str(n), "on_duplicate": "skip"} for n in range(3)]
    lost(lambda: client.enqueue_jobs("mail", some))
    more = [*some, {"dedup_id": "3", "on_duplicate": "skip"}]
    outcomes = [one.outcome for one in client.enqueue_jobs("mail", more)]
    assert outcomes == ["duplicate", "duplicate", "duplicate", "enqueued"]
    assert jobs(conn) == 4


def test_enqueue_without_a_dedup_id_is_doubled(
    client: Client, lost: Callable[[Any], None], conn: Connection
) -> None:
    lost(lambda: client.enqueue_job("mail"))
    client.enqueue_job("mail")
    assert jobs(conn) == 2


def test_complete_says_that_the_job_runs_no_more(
    client: Client, lost: Callable[[Any], None]
) -> None:
    ids = client.enqueue_batch("orders", [1, 2, 3], ["a", "b", "c"])
    token = client.claim_job_batch("w", ["orders"])[0].lease_token
    lost(lambda: client.complete_job(ids[0], {"sum": 1}, token))
    with pytest.raises(InvalidState):
        client.complete_job(ids[0], {"sum": 1}, token)
    assert (client.get_job(ids[0]).state, client.get_job(ids[0]).result) == (
        "completed",
        {"sum": 1},
    )
    lost(lambda: client.complete_jobs(ids[1:], token))
    verdicts = [one.verdict for one in client.complete_jobs(ids[1:], token)]
    assert verdicts == ["invalid_state", "invalid_state"]
    assert {client.get_job(i).state for i in ids} == {"completed"}
    assert client.complete_claim(token) == 0
    record("lost_reply_complete", crashes_injected=2)


def test_fail_counts_once(client: Client, lost: Callable[[Any], None]) -> None:
    job_id = client.enqueue_job("mail")
    token = client.claim_job_batch("w", ["mail"])[0].lease_token
    lost(lambda: client.fail_job(job_id, "no", token, retry_in="1 hour"))
    with pytest.raises(LeaseLost):
        client.fail_job(job_id, "no", token, retry_in="1 hour")
    info = client.get_job(job_id)
    assert (info.state, info.attempt, info.retry_count) == ("retry", 1, 1)


def test_a_claim_that_nobody_heard_of_comes_back_when_its_lease_ends(
    client: Client, lost: Callable[[Any], None], conn: Connection
) -> None:
    ids = client.enqueue_batch("orders", [1, 2], ["a", "a"])
    lost(lambda: client.claim_job_batch("w", ["orders"]))
    # The worker's name finds it at once, if it does not want to wait.
    assert client.get_job(ids[0]).worker_id == "w"
    assert client.claim_job_batch("w", ["orders"]) == []
    assert client.mark_worker_unresponsive("w") == 1
    client.run_maintenance()
    again = client.claim_job_batch("w", ["orders"])
    assert [(job.id, job.attempt) for job in again] == [(ids[0], 2)]
    assert jobs(conn) == 2
