"""The connection of a Python worker of Spark, which is kept from task to task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from pgbaton.spark._dsn import Target

SECONDS_KEPT = 60.0


@dataclass(frozen=True)
class Kept:
    """A connection between two tasks."""

    conninfo: str
    connection: psycopg.Connection[Any]
    since: float


_kept: Kept | None = None


@contextmanager
def task_connection(target: Target) -> Iterator[psycopg.Connection[Any]]:
    """A connection for one task and its transaction, open already if the task before had it.

    To open one takes ten milliseconds, as long as all else of a small task. Spark ends workers that
    have nothing to do for a minute, and connections end with them.
    """
    with ExitStack() as stack:
        connection = _take(target.conninfo()) or target.connect()
        stack.callback(connection.close)
        yield connection
        connection.commit()
        stack.pop_all()
    _keep(Kept(target.conninfo(), connection, time.monotonic()))


def _take(conninfo: str) -> psycopg.Connection[Any] | None:
    """What is kept, if it is for this and still there. What is older may be cut off in silence."""
    global _kept
    kept, _kept = _kept, None
    if kept is None:
        return None
    is_young = time.monotonic() < kept.since + SECONDS_KEPT
    if kept.conninfo == conninfo and is_young and _answers(kept.connection):
        return kept.connection
    kept.connection.close()
    return None


def _keep(kept: Kept) -> None:
    global _kept
    if _kept is not None:
        _kept.connection.close()
    _kept = kept


def _answers(connection: psycopg.Connection[Any]) -> bool:
    try:
        connection.execute("")
        connection.rollback()
    except psycopg.OperationalError:
        return False
    return True
