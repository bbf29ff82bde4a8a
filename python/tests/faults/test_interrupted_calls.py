"""Timeouts and read-only transactions, in every public function: an error, and nothing changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from test_contract import public_names
from whole_contract import Connection, Execute, call_everything, each_call, everything, tables

from pgbaton import Client

# They look at no table.
LOCK_FREE = {"two_phase_backoff", "version"}
# Volatile, since they look again in a new snapshot; they write nothing. The contract's call of
# act_on_jobs is a dry run.
LOOK_TWICE = {
    "act_on_jobs",
    "get_job",
    "job_attempts",
    "job_totals",
    "wait_for_outcomes",
    "why_not_running",
}
LONG_ENOUGH = {"lock_timeout": "1ms", "statement_timeout": "20ms"}
TIMED_OUT = {"lock_timeout": "55P03", "statement_timeout": "57014"}


@contextmanager
def locked(blocker: Connection, mode: str) -> Iterator[None]:
    """Keeps everybody else from all tables."""
    with blocker.transaction(force_rollback=True):
        blocker.execute(f"lock table {', '.join(tables(blocker))} in {mode} mode".encode())
        yield


def outcome(execute: Execute, connection: Connection, function: str, given: Any) -> str:
    """00000, or the SQLSTATE that the call fails with."""
    try:
        execute(connection, function, given)
    except psycopg.Error as error:
        return error.sqlstate or str(error)
    return "00000"


@pytest.mark.parametrize(
    ("setting", "mode"),
    [
        ("lock_timeout", "access exclusive"),
        pytest.param("lock_timeout", "share", marks=pytest.mark.proof),
        pytest.param("statement_timeout", "access exclusive", marks=pytest.mark.proof),
    ],
)
def test_a_call_that_times_out_changes_nothing_and_works_afterwards(
    dsn: str, setting: str, mode: str
) -> None:
    outcomes: dict[str, Counter[str]] = {}

    def interrupted_first(
        execute: Execute, connection: Connection, function: str, given: Any
    ) -> Any:
        before = everything(blocker)
        with locked(blocker, mode):
            connection.execute(f"set {setting} = '{LONG_ENOUGH[setting]}'".encode())
            ended = outcome(execute, connection, function, given)
            connection.execute(f"set {setting} = 0".encode())
        assert everything(blocker) == before, function
        outcomes.setdefault(function, Counter())[ended] += 1
        return execute(connection, function, given)

    with (
        psycopg.connect(dsn, autocommit=True) as blocker,
        psycopg.connect(dsn, autocommit=True) as own,
        each_call(interrupted_first) as called,
    ):
        call_everything(Client(connection=own))
    assert called == public_names()
    for function, counts in outcomes.items():
        if function in LOCK_FREE:
            assert set(counts) == {"00000"}, function
        elif function == "run_maintenance" and setting == "lock_timeout":
            assert set(counts) == {"00000"}, "it says which steps could not be done"
        elif mode == "access exclusive":
            assert set(counts) == {TIMED_OUT[setting]}, (function, counts)
        else:  # who only reads, or finds nothing to write, is not stopped by a share lock
            assert set(counts) <= {"00000", TIMED_OUT[setting]} | {"PB002"}, (function, counts)
    assert any(TIMED_OUT[setting] in counts for counts in outcomes.values())


def test_read_only_transactions_refuse_what_writes_and_nothing_that_looks(dsn: str) -> None:
    outcomes: dict[str, set[str]] = {}

    def read_only_first(execute: Execute, connection: Connection, function: str, given: Any) -> Any:
        before = everything(observer)
        connection.execute("set default_transaction_read_only = on")
        ended = outcome(execute, connection, function, given)
        connection.execute("set default_transaction_read_only = off")
        assert everything(observer) == before, function
        outcomes.setdefault(function, set()).add(ended)
        return execute(connection, function, given)

    with (
        psycopg.connect(dsn, autocommit=True) as observer,
        psycopg.connect(dsn, autocommit=True) as own,
        each_call(read_only_first) as called,
    ):
        call_everything(Client(connection=own))
    assert called == public_names()
    refused = {name for name, seen in outcomes.items() if "25006" in seen}
    with psycopg.connect(dsn) as conn:
        rows = conn.execute(
            "select proname from pg_proc where pronamespace = 'pgbaton'::regnamespace"
            " and proname = any (%s) and provolatile = 'v'",
            [sorted(called)],
        )
        assert refused == {name for (name,) in rows} - LOOK_TWICE
