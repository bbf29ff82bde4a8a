"""The examples of docs/tasks.md and docs/hooks.md run, and do what the pages say."""

from __future__ import annotations

import importlib
import logging
import re
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest
import sentry_sdk
import structlog

from pgbaton import Client, Counts, Worker, _assemble, task

DOCS = _assemble.source_root() / "docs"
Page = Callable[[str], ModuleType]


@pytest.fixture
def page(
    dsn: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], ModuleType]:
    """The examples of a page as one module."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("create table purchase (id bigint)")
        conn.execute("create table booking (amount int)")
    for queue in ("reports", "payments", "ledger"):
        client.create_queue(queue, retry_delay=timedelta(hours=1))

    closed: list[str] = []
    monkeypatch.setattr(
        "pgbaton.django._connections.close_old_connections", lambda: closed.append("django")
    )

    def read(name: str) -> ModuleType:
        text = (DOCS / f"{name}.md").read_text("utf-8")
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        assert len(examples) == text.count("```python")
        module = f"{name}_page"
        (tmp_path / f"{module}.py").write_text(f"DSN = {dsn!r}\n" + "\n".join(examples), "utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, module, raising=False)
        page = importlib.import_module(module)
        page.closed = closed  # type: ignore[attr-defined]
        return page

    return read


def test_the_tasks(page: Page, client: Client, dsn: str) -> None:
    tasks = page("tasks")
    client.create_schedule("nightly", "reports", "0 3 * * *", **tasks.report.job(days=1))
    tasks.report.enqueue(client, 7)
    cards = {card: tasks.charge.enqueue(client, card) for card in ("good", "unknown", "busy")}
    cards["limited"] = tasks.charge.enqueue(client, "limited")
    refund = tasks.refund.enqueue(client, 17, tasks.Money(150, "EUR"))
    old = tasks.send_invoice_as_before.enqueue(client, 16)
    renamed = client.enqueue_job("mail", {"order_id": 1, "language": "de"}, job_type="send_bill")
    [statement] = re.findall(r"```sql\n(.*?)```", (DOCS / "tasks.md").read_text("utf-8"), re.DOTALL)
    with psycopg.connect(dsn) as conn:
        [[by_sql]] = conn.execute(statement).fetchall()
    tasks.worker.add(tasks)
    counts = tasks.worker.run(burst=True)
    assert counts == Counts(completed=13, failed=1, retried=1, given_back=1)

    with psycopg.connect(dsn) as conn:
        assert conn.execute("select id from purchase").fetchall() == [(17,)]
    for job_id, result in (
        (by_sql, "sent the invoice of order 22 to the archive"),
        (refund, "150 EUR for order 17"),
        (old, "sent the invoice of order 16 in en"),
        (renamed, "sent the invoice of order 1 in de"),
    ):
        assert client.get_job(job_id).result == result
    states = {card: str(client.get_job(job_id).state) for card, job_id in cards.items()}
    assert states == {
        "good": "completed", "unknown": "failed", "busy": "retry", "limited": "retry"
    }  # fmt: skip
    assert client.get_job(cards["limited"]).attempt == 0
    assert "KeyError: 'unknown'" in (client.get_job(cards["unknown"]).error_message or "")


def test_the_hooks(
    page: Page, client: Client, dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hooks = page("hooks")
    worker: Worker = hooks.worker
    seen: list[Any] = []

    @task("mail", max_attempts=1)
    def look(fails: bool) -> None:
        seen.append(structlog.contextvars.get_contextvars())
        seen.append(sentry_sdk.get_isolation_scope()._tags)
        if fails:
            raise ValueError("no funds")

    worker.add(look)
    hooks.book.enqueue(client, 12)
    good = look.enqueue(client, False)
    bad = look.enqueue(client, True)
    assert worker.run(burst=True) == Counts(completed=2, failed=1)
    assert hooks.closed == ["django"] * 6
    with psycopg.connect(dsn) as conn:
        assert conn.execute("select amount from booking").fetchall() == [(12,)]
    said = capsys.readouterr().out
    assert re.search(rf"job {good} took 0\.\d s\n", said)
    assert "attempt 1 of 1: ValueError('no funds')\n" in said
    assert f"job {bad} failed for good: ValueError: no funds (" in said
    assert {found["job_id"] for found in seen if "job_id" in found} == {good, bad}
    assert [found for found in seen if "job_id" not in found] == [{"queue": "mail"}] * 2


class Reports(sentry_sdk.Transport):
    """Keeps what would be sent."""

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        super().__init__(options)
        self.items: list[Any] = []

    def capture_envelope(self, envelope: Any) -> None:
        self.items += [item.payload.json for item in envelope.items]


def test_sentry_is_told_of_final_failures_and_traces_go_on(
    page: Page, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    hooks = page("hooks")
    worker: Worker = hooks.worker

    @task("mail", max_attempts=2)
    def look(fails: bool) -> None:
        if fails:
            raise ValueError("no funds")

    worker.add(look)
    transport = Reports()
    sentry_sdk.init("http://key@localhost/1", transport=transport, traces_sample_rate=1.0)
    try:
        with sentry_sdk.start_transaction(name="request") as request:
            hooks.traced(look).enqueue(client, True)
        worker.run(burst=True)
    finally:
        sentry_sdk.init()
    events = [item for item in transport.items if item.get("type") != "transaction"]
    [event] = [item for item in events if "exception" in item]
    assert event["exception"]["values"][-1]["value"] == "no funds"
    assert event["extra"]["attempt"] == 2
    attempts = [t for t in transport.items if t.get("transaction") == "look"]
    assert len(attempts) == 2
    assert {t["contexts"]["trace"]["trace_id"] for t in attempts} == {request.trace_id}
    assert {t["contexts"]["trace"]["status"] for t in attempts} == {"internal_error"}
