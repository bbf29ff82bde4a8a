"""One moment of the database for all partitions of all reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from pgbaton.spark._dsn import Target


@dataclass(frozen=True)
class Snapshot:
    """A moment to read at, valid within its `with` block."""

    id: str


@contextmanager
def snapshot(dsn: str) -> Iterator[Snapshot]:
    """A moment of the database that several reads share: pass it to read_history.

    A transaction stays open on the driver until the block ends, and retention drops no day until
    then; DataFrames are computed within it.

    Args:
        dsn (str): connection string or URL. The reads must go to the same server, not to a replica.

    Returns:
        Snapshot: what the `with` statement gives.
    """
    with Target.resolve(dsn).connect() as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        # Before the moment, and kept: a day that retention drops is gone from every snapshot.
        connection.execute("lock table pgbaton.jobs in access share mode")
        [(exported,)] = connection.execute("select pg_export_snapshot()").fetchall()
        yield Snapshot(exported)


def snapshot_statement(snapshot_id: str) -> str:
    """What a transaction has to do first to see that moment."""
    exported = sql.quote(snapshot_id)
    return (
        "set transaction isolation level repeatable read, read only; "
        f"set transaction snapshot {exported}"
    )


def enter_snapshot(connection: psycopg.Connection[Any], snapshot_id: str | None) -> None:
    """Makes the connection's transaction, which must be new, see that moment."""
    if snapshot_id is not None:
        connection.execute(snapshot_statement(snapshot_id).encode())
