"""GET /queue/outcomes: how messages ended, and waiting until they have."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString

import httpx
import psycopg
import pytest
from serving import Served, until

from pgbaton import Client


@pytest.fixture
def path(queue: str) -> str:
    return f"/{queue}/api/queue"


def test_who_has_ended_is_told_at_once(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    assert gateway.get(f"{path}/outcomes") == []  # of none
    done, open_ = (gateway.post(f"{path}/enqueue", {"value": n})["id"] for n in range(2))
    assert gateway.get(f"{path}/outcomes?id={done}") == []
    [job] = client.claim_job_batch("w", [queue], batch_size=1)
    client.complete_job(job.id, {"sum": 12.50}, job.lease_token)
    [found] = gateway.get(f"{path}/outcomes?id={open_}&id={done}&id={done}")
    assert found["endedAt"] == pytest.approx(time.time() * 1000, abs=60_000)
    del found["endedAt"]
    assert found == {
        "id": done,
        "state": "completed",
        "resolution": None,
        "result": {"sum": 12.5},
        "errorMessage": None,
    }
    [job] = client.claim_job_batch("w", [queue], batch_size=1)
    client.fail_job(job.id, "broke", job.lease_token, retryable=False)
    [_, dead] = gateway.get(f"{path}/outcomes?id={done}&id={open_}")
    assert (dead["state"], dead["errorMessage"]) == ("failed", "broke")


def test_it_waits_until_all_have(gateway: Served, client: Client, queue: str, path: str) -> None:
    ids = [gateway.post(f"{path}/enqueue", {"value": n})["id"] for n in range(3)]
    query = "&".join(f"id={one}" for one in ids)
    found: list[list[dict[str, object]]] = []
    waiting = threading.Thread(
        target=lambda: found.append(gateway.get(f"{path}/outcomes?{query}&wait=60"))
    )
    waiting.start()
    for job in client.claim_job_batch("w", [queue], batch_size=3):
        assert not found
        client.complete_job(job.id, None, job.lease_token)
    waiting.join(30)
    assert [one["id"] for one in found[0]] == ids


def enqueued(gateway: Served, path: str) -> str:
    return str(gateway.post(f"{path}/enqueue", {"value": 1})["id"])


class Asking:
    """A request for an outcome that is seen to wait."""

    def __init__(self, gateway: Served, dsn: str, path: str) -> None:
        self.answers: list[httpx.Response] = []
        self.id = enqueued(gateway, path)
        url = f"{path}/outcomes?id={self.id}&wait=60"
        self.dsn = dsn
        self.thread = threading.Thread(target=lambda: self.answers.append(gateway.ask("GET", url)))
        self.thread.start()

    def seen(self) -> Asking:
        """Returns when the database was asked for it."""
        until(lambda: self.count("select count(*)") > 0)
        return self

    def count(self, what: LiteralString) -> int:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            [[number]] = conn.execute(
                f"{what} from pg_stat_activity where datname = current_database()"
                " and query like '%wait_for_outcomes%' and pid <> pg_backend_pid()"
            )
        return int(number)

    def answered(self) -> httpx.Response:
        self.thread.join(30)
        [answer] = self.answers
        return answer


def test_w01_over_http_a_message_that_ended_before(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    done = enqueued(gateway, path)
    [job] = client.claim_job_batch("w", [queue])
    client.complete_job(job.id, lease_token=job.lease_token)
    [found] = gateway.get(f"{path}/outcomes?id={done}&wait=60")
    assert found["state"] == "completed"


def test_w02_over_http_a_message_that_goes_meanwhile(
    gateway: Served, gateway_dsn: str, path: str
) -> None:
    """Its state is null; when it was gone before, there is no such message."""
    asking = Asking(gateway, gateway_dsn, path).seen()
    with psycopg.connect(asking.dsn) as conn, Client(connection=conn) as at_once:
        at_once.cancel_jobs(job_ids=[int(asking.id)])
        at_once.delete_jobs(job_ids=[int(asking.id)])
        conn.commit()
    [found] = asking.answered().json()
    assert (found["id"], found["state"], found["endedAt"]) == (asking.id, None, None)
    assert gateway.status("GET", f"{path}/outcomes?id={asking.id}&wait=60") == 404


def test_w03_over_http_the_time_is_over(gateway: Served, client: Client, path: str) -> None:
    message = enqueued(gateway, path)
    assert gateway.get(f"{path}/outcomes?id={message}&wait=1") == []
    client.cancel_jobs(job_ids=[int(message)])
    [found] = gateway.get(f"{path}/outcomes?id={message}&wait=1")
    assert found["state"] == "unscheduled"


def several_at_once(gateway: Served, conn: psycopg.Connection[Any], path: str) -> list[int]:
    """Three requests that wait for one lock: its connections, which are idle from then on."""
    waiting = "select pid from pg_locks where not granted and relation = 'pgbaton.job'::regclass"
    with ThreadPoolExecutor() as threads, conn.transaction():
        conn.execute("lock table pgbaton.job in access exclusive mode")
        for _ in range(3):
            threads.submit(gateway.ask, "GET", f"{path}/outcomes?id=1")
        until(lambda: conn.execute(waiting).rowcount == 3)
        return [pid for [pid] in conn.execute(waiting)]


def test_w04_over_http_the_connection_is_lost(
    gateway: Served, gateway_dsn: str, client: Client, path: str
) -> None:
    """The request ends with 503, and may be sent again, though idle connections were lost too."""
    with psycopg.connect(gateway_dsn, autocommit=True) as conn:
        connections = several_at_once(gateway, conn, path)
        asking = Asking(gateway, gateway_dsn, path).seen()
        conn.execute("select pg_terminate_backend(pid) from unnest(%s) as c (pid)", [connections])
    assert asking.answered().status_code == 503
    client.cancel_jobs(job_ids=[int(asking.id)])
    for _ in range(5):
        [found] = gateway.get(f"{path}/outcomes?id={asking.id}&wait=60")
        assert found["state"] == "unscheduled"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        *((f"id={text}", 404) for text in ("x", "0", "-1", "", "9223372036854775808")),
        *((f"wait={text}", 400) for text in ("61", "x", "-1", "")),
        ("&".join(f"id={n}" for n in range(1, 102)), 400),
    ],
)
def test_what_is_wrong_is_said(gateway: Served, path: str, query: str, status: int) -> None:
    assert gateway.status("GET", f"{path}/outcomes?{query}") == status


def test_only_of_messages_of_the_queue(gateway: Served, client: Client, path: str) -> None:
    client.create_queue("elsewhere")
    job = client.enqueue_job("elsewhere")
    assert gateway.status("GET", f"{path}/outcomes?id={job}") == 404
    assert gateway.status("GET", f"{path}/outcomes?id=999999") == 404


def test_needs_the_role_of_a_monitor(guarded: Served, path: str) -> None:
    till = guarded.of("till")
    message_id = till.post(f"{path}/enqueue", {"value": 1})["id"]
    assert till.status("GET", f"{path}/outcomes?id={message_id}") == 403
