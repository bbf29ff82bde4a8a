"""Where a task is enqueued to: a client, or the transaction of somebody's connection or session.

Other drivers and frameworks are adapters: a module of pgbaton with a function `producer_of`, which
is given the connection or session and returns something with an `enqueue_job`. It is imported when
it is needed, so that none of them has to be installed.
"""

from __future__ import annotations

from collections.abc import Awaitable
from importlib import import_module
from typing import Any, Protocol, TypeAlias

import psycopg

from pgbaton.client import AsyncClient, Client

ADAPTERS = {"sqlalchemy": "pgbaton.sqlalchemy", "asyncpg": "pgbaton.asyncpg"}
"""By the package that the class of the connection or session comes from."""


class Producer(Protocol):
    """A client, or what an adapter makes of a session."""

    def enqueue_job(self, queue: str, /, *args: Any, **options: Any) -> int:
        """As Client has it."""
        ...


class AsyncProducer(Protocol):
    """An asynchronous client, or what an adapter makes of a session."""

    def enqueue_job(self, queue: str, /, *args: Any, **options: Any) -> Awaitable[int]:
        """As AsyncClient has it."""
        ...


class Transaction(Protocol):
    """A connection or session, whose transaction a job becomes part of."""

    def execute(self, statement: Any, /, *args: Any, **options: Any) -> Any:
        """Runs a statement in the transaction."""
        ...


class AsyncTransaction(Protocol):
    """An asynchronous connection or session."""

    def execute(self, statement: Any, /, *args: Any, **options: Any) -> Awaitable[Any]:
        """Runs a statement in the transaction."""
        ...


Target: TypeAlias = Producer | Transaction
AsyncTarget: TypeAlias = AsyncProducer | AsyncTransaction


def producer_of(target: Any) -> Any:
    """Something with an `enqueue_job`, of a client, connection or session.

    Raises:
        TypeError: it is none of them.
    """
    if hasattr(target, "enqueue_job"):
        return target
    if isinstance(target, psycopg.Connection):
        return Client(connection=target)
    if isinstance(target, psycopg.AsyncConnection):
        return AsyncClient(connection=target)
    for kind in type(target).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in ADAPTERS:
            return import_module(ADAPTERS[package]).producer_of(target)
    raise TypeError(
        f"a task is enqueued to a client, connection or session, not to {target!r:.100}:"
        " pass it first, as in send.enqueue(connection, ...)"
    )
