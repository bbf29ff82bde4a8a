"""The examples of docs/worker.md run, and do what the page says."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import psycopg
import pytest
from workers import running, wait_for_state, wait_until

from pgbaton import Client, _assemble

PAGE = _assemble.source_root() / "docs" / "worker.md"


@pytest.fixture
def page(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The examples as one module, which the process of a handler can import too."""
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    source = [f"DSN = DIRECT_DSN = {dsn!r}\n", *examples]
    (tmp_path / "worker_page.py").write_text("".join(source), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "worker_page", raising=False)
    return importlib.import_module("worker_page")


def test_the_examples_run(
    client: Client, dsn: str, page: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("create table booking (amount int)")
    for queue in ("reports", "payments", "slow", "ledger"):
        client.create_queue(queue, retry_delay=timedelta(hours=1))
    letter = client.enqueue_job("mail", {"to": "you"}, job_type="letter")
    other = client.enqueue_job("mail", "a card")
    cards = {c: client.enqueue_job("payments", {"card": c}) for c in CARDS}
    slow = client.enqueue_job("slow", 10**9)
    quick = client.enqueue_job("slow", 2)
    report = client.enqueue_job("reports", {"rows": [1, 2, 3]})
    booked = [client.enqueue_job("ledger", 10), client.enqueue_job("ledger", "no number")]
    with running(page.worker):
        assert wait_for_state(client, letter, "completed")
        assert wait_for_state(client, other, "completed")
        for card, state in CARDS.items():
            wait_for_state(client, cards[card], state)
        wait_until(lambda: client.get_job(slow).progress is not None)
        client.cancel_jobs(job_ids=[slow])
        assert wait_for_state(client, slow, "stopped")
        assert wait_for_state(client, quick, "completed")
        assert wait_for_state(client, report, "completed")
        assert wait_for_state(client, booked[0], "completed")
        assert wait_for_state(client, booked[1], "retry")
    with psycopg.connect(dsn) as conn:
        assert conn.execute("select amount from booking").fetchall() == [(10,)]
    assert client.get_job(report).result == 3
    assert client.get_job(letter).result == {"sent to": "you"}
    assert "sending a card" in capsys.readouterr().out
    jobs = {card: client.get_job(job_id) for card, job_id in cards.items()}
    assert jobs["expired"].error_message == "the card has expired"
    assert (jobs["closed"].attempt, jobs["busy"].attempt) == (0, 1)
    assert (jobs["broken"].error_message or "").startswith("ValueError: no such card (")


def test_payloads_of_ones_own_types(client: Client, page: ModuleType) -> None:
    client.create_queue("parcels", max_attempts=1)
    good = page.enqueue(page.Parcel(17, Decimal("2.50")))
    bad = client.enqueue_job("parcels", {"order_id": 1, "weight": []}, job_type="ship")
    assert client.get_job(good).payload == {"order_id": 17, "weight": "2.50"}
    with running(page.typed):
        wait_for_state(client, good, "completed")
        wait_for_state(client, bad, "failed")
    assert client.get_job(good).result == {"order_id": 17, "weight": "3.50"}
    [promised] = re.findall(r"^pgbaton\.CodecError: .*$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert client.get_job(bad).error_message == promised.replace("job 5", f"job {bad}")


CARDS = {"good": "completed", "expired": "failed", "busy": "retry", "closed": "retry"} | {
    "broken": "retry"
}


def test_a_burst_and_a_queue_of_its_own(
    client: Client, page: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    client.create_queue("reports")
    for queue in ("mail", "reports"):
        page.shared.handler(queue)(lambda job: 1 / job.payload)
        client.enqueue_job(queue, 1)
    client.enqueue_job("mail", 0, max_attempts=1)
    assert page.empty_queues(page.shared) == 1
    assert capsys.readouterr().out == "2 completed 0 to be tried again\n"


@pytest.mark.parametrize("way", ["pooled", "polling"])
def test_the_workers_for_pgbouncer_work(client: Client, page: ModuleType, way: str) -> None:
    worker = getattr(page, way)
    worker.handler("mail")(lambda job: None)
    with running(worker):
        wait_for_state(client, client.enqueue_job("mail"), "completed")


def test_the_stream_is_worked_off(client: Client, page: ModuleType) -> None:
    ids = client.enqueue_batch("mail", range(12), tags=["import"])
    asyncio.run(page.work_off(12))
    assert [client.get_job(job_id).result for job_id in ids] == [{"rows": n} for n in range(12)]
