"""How long who found no work sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pgbaton._listening.listener import Listener
from pgbaton.models import Sleep

POLL = 1.0
"""Seconds between two looks while notifications would not be heard."""
HELD = 0.2
"""The same while others hold the work: they may give it back, which nobody would be told."""


class Slumber:
    """Lies down among the sleepers of the database and listens for what wakes them.

    Args:
        listener (Listener): hears the notifications.
        work (asyncio.Event): is set when there may be work.
        lie_down: calls wait_for_jobs.
    """

    def __init__(
        self, listener: Listener, work: asyncio.Event, lie_down: Callable[[], Awaitable[Sleep]]
    ) -> None:
        self._listener = listener
        self._work = work
        self._lie_down = lie_down
        self._channel: str | None = None
        self._in_vain = 0

    def found(self) -> None:
        """A claim brought jobs."""
        self._in_vain = 0

    @property
    def has_found(self) -> bool:
        """Whether the last look saw work, for a claim."""
        return self._in_vain > 0

    async def seconds(self) -> float:
        """Lies down; returns how long to sleep at most."""
        if self._channel is None:
            channel = (await self._lie_down()).channel
            await self._listener.listen(channel, self._work)
            self._channel = channel
        seconds = (await self._lie_down()).wait.total_seconds()
        self._in_vain = self._in_vain + 1 if seconds == 0 else 0
        if self._in_vain > 1:  # others hold what there is for a moment
            return min(0.01 * 2.0 ** min(self._in_vain, 10), HELD)
        return seconds if self._listener.is_up else min(seconds, POLL)

    async def end(self) -> None:
        """Does not listen any more; may be used again."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await self._listener.unlisten(channel, self._work)
