"""Where a task is enqueued to: a client, or the transaction of somebody's connection or session."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, TypeAlias

from pgbaton import _foreign
from pgbaton.client import AsyncClient, Client


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


class Asyncpg(Protocol):
    """A connection of asyncpg."""

    def fetch(self, query: str, /, *args: Any) -> Awaitable[Any]:
        """Runs a statement in the transaction."""
        ...


class AsyncTransaction(Protocol):
    """An asynchronous connection or session."""

    def execute(self, statement: Any, /, *args: Any, **options: Any) -> Awaitable[Any]:
        """Runs a statement in the transaction."""
        ...


Target: TypeAlias = Producer | Transaction
AsyncTarget: TypeAlias = AsyncProducer | AsyncTransaction | Asyncpg


def producer_of(target: Any) -> Any:
    """Something with an `enqueue_job`, of a client, connection or session.

    Raises:
        TypeError: it is none of them.
    """
    if hasattr(target, "enqueue_job"):
        return target
    if _foreign.is_joined_by("Client", target):
        return Client(connection=target)
    if _foreign.is_joined_by("AsyncClient", target):
        return AsyncClient(connection=target)
    raise TypeError(
        f"a task is enqueued to a client, connection or session, not to {target!r:.100}:"
        " pass it first, as in send.enqueue(connection, ...)"
    )
