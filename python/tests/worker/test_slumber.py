"""How long a worker sleeps that found nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from pgbaton._listening.listener import Listener
from pgbaton._listening.slumber import HELD, POLL, Slumber
from pgbaton.models import Sleep


class Deaf(Listener):
    """Is told to listen, and hears nothing."""

    def __init__(self, is_up: bool = True) -> None:
        super().__init__("")
        self.channels: list[str] = []
        self._seems_up = is_up

    @property
    def is_up(self) -> bool:
        return self._seems_up

    async def listen(self, channel: str, event: asyncio.Event) -> None:
        self.channels.append(channel)

    async def unlisten(self, channel: str, event: asyncio.Event) -> None:
        self.channels.remove(channel)


def slumber_of(waits: list[float], listener: Deaf) -> Slumber:
    """wait_for_jobs is called once more before it listens."""
    answers = iter([waits[0], *waits])

    async def lie_down() -> Sleep:
        return Sleep("channel", timedelta(seconds=next(answers)))

    return Slumber(listener, asyncio.Event(), lie_down)


def sleeps(waits: list[float], is_up: bool = True) -> list[float]:
    slumber = slumber_of(waits, Deaf(is_up))

    async def look() -> list[float]:
        return [await slumber.seconds() for _ in waits]

    return asyncio.run(look())


def test_it_sleeps_as_long_as_the_database_says() -> None:
    assert sleeps([30, 4.5]) == [30, 4.5]


def test_without_notifications_it_looks_every_second() -> None:
    assert sleeps([30, 0.2], is_up=False) == [POLL, 0.2]


def test_work_that_others_hold_is_looked_for_less_and_less() -> None:
    # After a night without work, too: it looks at once when there is some.
    assert sleeps([30] * 2000 + [0, 0, 0, 0]) == [30] * 2000 + [0, 0.04, 0.08, 0.16]
    assert sleeps([0] * 3000)[-1] == HELD


def test_a_claim_that_brought_jobs_begins_anew() -> None:
    slumber = slumber_of([0, 0, 0], Deaf())

    async def look() -> list[float]:
        seen = [await slumber.seconds(), await slumber.seconds()]
        slumber.found()
        return [*seen, await slumber.seconds()]

    assert asyncio.run(look()) == [0, 0.04, 0]


@pytest.mark.parametrize("times", [1, 2])
def test_it_listens_once_until_it_ends(times: int) -> None:
    listener = Deaf()
    slumber = slumber_of([30] * times, listener)

    async def live() -> None:
        for _ in range(times):
            await slumber.seconds()
        assert listener.channels == ["channel"]
        await slumber.end()
        await slumber.end()

    asyncio.run(live())
    assert listener.channels == []
