"""The connection that listens: it is up, or it is known to be down and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, LiteralString

import psycopg
import pytest
from workers import PATIENCE, terminate_all

from pgbaton._listening import listener as module
from pgbaton._listening.listener import Listener

execute = module.execute
ERRORS = [
    psycopg.errors.ReadOnlySqlTransaction("cannot execute LISTEN during recovery"),
    psycopg.errors.QueryCanceled("canceling statement due to user request"),
]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def hears(dsn: str, channel: str, event: asyncio.Event) -> None:
    """Fails unless the event is set by a notification."""
    event.clear()
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        await conn.execute("select pg_notify(%s, '')", [channel])
    await event.wait()


def run(dsn: str, story: Callable[[Listener], Awaitable[None]]) -> None:
    async def program() -> None:
        listener = Listener(dsn)
        try:
            async with asyncio.timeout(PATIENCE / 6):
                await story(listener)
        finally:
            await listener.close()

    asyncio.run(program())


def refuse(monkeypatch: pytest.MonkeyPatch, error: psycopg.Error, times: int) -> list[str]:
    """The next statements fail, as on a standby; returns the channels that were asked for."""
    asked: list[str] = []

    async def refused(
        connection: psycopg.AsyncConnection[Any], statement: LiteralString, channel: str
    ) -> None:
        asked.append(channel)
        if len(asked) <= times:
            raise error
        await execute(connection, statement, channel)

    monkeypatch.setattr(module, "execute", refused)
    return asked


@pytest.mark.parametrize("error", ERRORS)
def test_it_connects_again_until_the_server_listens(
    dsn: str, monkeypatch: pytest.MonkeyPatch, error: psycopg.Error
) -> None:
    async def story(listener: Listener) -> None:
        event = asyncio.Event()
        await listener.listen("a", event)
        asked = refuse(monkeypatch, error, 2)
        await asyncio.to_thread(terminate_all, dsn)
        await until(lambda: len(asked) == 3)
        await hears(dsn, "a", event)

    run(dsn, story)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("is_up", [False, True])
def test_a_channel_that_is_refused_is_listened_to_later(
    dsn: str, monkeypatch: pytest.MonkeyPatch, error: psycopg.Error, is_up: bool
) -> None:
    async def story(listener: Listener) -> None:
        first, second = asyncio.Event(), asyncio.Event()
        if is_up:
            await listener.listen("a", first)
        refuse(monkeypatch, error, 1)
        await listener.listen("b", second)
        assert not listener.is_up
        await until(lambda: listener.is_up)
        await hears(dsn, "b", second)
        if is_up:
            await hears(dsn, "a", first)

    run(dsn, story)


def test_who_is_cancelled_leaves_the_others_listening(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(listener: Listener) -> None:
        first, second = asyncio.Event(), asyncio.Event()
        await listener.listen("a", first)
        has_begun = asyncio.Event()

        async def hang(*_: Any) -> None:
            has_begun.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(module, "execute", hang)
        task = asyncio.create_task(listener.listen("b", second))
        await has_begun.wait()
        task.cancel()
        monkeypatch.setattr(module, "execute", execute)
        await asyncio.wait([task])
        await until(lambda: listener.is_up)
        await hears(dsn, "a", first)

    run(dsn, story)


def prove_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET", 0.01)
    monkeypatch.setattr(module, "ANSWER", 2.0)


def test_it_proves_that_it_hears(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Again and again on one connection; nobody who sleeps is woken by it."""
    prove_often(monkeypatch)

    async def story(listener: Listener) -> None:
        event = asyncio.Event()
        await listener.listen("a", event)
        connection = listener._connection
        for _ in range(3):
            listener._has_proof.clear()
            await listener._has_proof.wait()
        assert not event.is_set()
        assert listener._connection is connection
        await hears(dsn, "a", event)

    run(dsn, story)


def test_a_deaf_one_is_replaced(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a pooler that has given its connection to somebody else."""

    async def story(listener: Listener) -> None:
        event = asyncio.Event()
        await listener.listen("a", event)
        deaf = listener._connection
        assert deaf is not None
        await listener._stop_reading()
        await deaf.execute("unlisten *")
        prove_often(monkeypatch)
        listener._reader = asyncio.create_task(listener._read())
        await until(lambda: listener._connection is not deaf and listener.is_up)
        await hears(dsn, "a", event)

    run(dsn, story)
