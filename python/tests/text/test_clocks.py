"""The clock of a client never matters: all times are the server's."""

from __future__ import annotations

import ast
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sessions import Session

import pgbaton
from pgbaton import Client

PACKAGE = Path(pgbaton.__file__).parent
# What shows times to people, or waits for a server to start, may look at the clock.
LOOKS = {"cli", "demo", "embedded.py"}
INSTANT = re.compile(r"\w+\.\w+_(at|until)$")
WALL_CLOCKS = {"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime", "fromtimestamp"}


def found_in_package(is_wrong: Callable[[ast.AST], bool]) -> list[tuple[Path, str]]:
    """Parts of the package's source that are wrong: their file, and how they read."""
    return [
        (path.relative_to(PACKAGE), ast.unparse(node))
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if is_wrong(node)
    ]


def asks_the_wall_clock(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WALL_CLOCKS
        and ast.unparse(node.func.value) in {"time", "datetime", "date", "datetime.datetime"}
    )


def subtracts_an_instant(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and any(INSTANT.search(ast.unparse(side)) for side in (node.left, node.right))
    )


def test_no_call_is_made_by_the_wall_clock() -> None:
    # Workers of all machines wake at the same second of the minute, to share one maintenance.
    may = {"tender.py", *LOOKS}
    found = found_in_package(asks_the_wall_clock)
    assert [call for call in found if not may & set(call[0].parts)] == []
    assert [call for call in found if call[0].name == "tender.py"]  # what it looks for is seen


def test_no_two_instants_are_subtracted() -> None:
    """Of two in one time zone Python takes what the clocks show; `models.elapsed` does not."""
    found = [said for _, said in found_in_package(subtracts_an_instant)]
    assert [said for said in found if "gateway.asked_at" not in said] == []
    assert found  # that one is a time of time.monotonic


class Wrong(datetime):
    """A datetime whose now is wrong by `shift`."""

    shift = timedelta()

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return datetime.now(UTC) + cls.shift


@pytest.fixture(params=[-300, 300], ids=["five minutes behind", "five minutes ahead"])
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the client's modules see a clock that is wrong."""
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + request.param)
    monkeypatch.setattr(Wrong, "shift", timedelta(seconds=request.param))
    for name, module in list(sys.modules.items()):
        if name.startswith("pgbaton") and getattr(module, "datetime", None) is datetime:
            monkeypatch.setattr(module, "datetime", Wrong)


def test_a_life_by_a_wrong_clock(db: Session, wrong_clock: None) -> None:
    before = db.one("select clock_timestamp()")
    client = Client(connection=db.conn)
    client.create_queue("q", lease="1 minute", max_attempts=5)
    lone = client.enqueue_job("q")
    later = client.enqueue_job("q", delay=timedelta(minutes=2))
    [job] = client.claim_job_batch("w", ["q"])
    assert job.lease_until - job.claimed_at == timedelta(minutes=1)
    client.worker_heartbeat("w")
    assert client.recover_stale_jobs() == 0
    client.run_maintenance()
    assert client.get_job(lone).state == "active"
    client.extend_leases([lone], job.lease_token, timedelta(minutes=3))
    client.fail_job(lone, "no", job.lease_token, retry_in=timedelta(minutes=2))
    assert client.claim_job_batch("w", ["q"]) == [], "neither the retry nor the delayed job is due"
    after = db.one("select clock_timestamp()")

    delayed, retried = client.get_job(later), client.get_job(lone)
    assert delayed.run_at is not None
    assert retried.run_at is not None
    assert before <= delayed.created_at <= after
    for due in (delayed.run_at, retried.run_at):
        assert before <= due - timedelta(minutes=2) <= after
    [worker] = client.list_workers()
    assert worker.heartbeat_at is not None
    assert before <= worker.heartbeat_at <= after


def test_an_instant_is_an_instant_in_any_zone(db: Session) -> None:
    """A datetime with a zone says when, whatever the zones of client and session."""
    client = Client(connection=db.conn)
    client.create_queue("q")
    at = datetime(2030, 10, 27, 0, 30, tzinfo=UTC)
    for offset in (-12, 0, 2, 14):
        there = at.astimezone(timezone(timedelta(hours=offset)))
        for zone in ("UTC", "Europe/Berlin", "Pacific/Kiritimati"):
            db.rows("select set_config('timezone', %s, false)", zone)
            run_at = client.get_job(client.enqueue_job("q", run_at=there)).run_at
            # Python calls no time of an hour that comes twice equal to one in another zone.
            assert run_at is not None
            assert run_at.astimezone(UTC) == at
