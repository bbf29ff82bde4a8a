"""GET /queue/outcomes: how messages ended, and waiting until they have."""

from __future__ import annotations

import threading
import time

import pytest
from serving import Served

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
