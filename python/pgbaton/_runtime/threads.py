"""Threads for handlers that are plain functions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread

from pgbaton._listening.waiting import happens
from pgbaton._runtime.outcomes import Outcome, of_error

log = logging.getLogger("pgbaton.worker")

Work = Callable[[], Outcome]
Done = Callable[[Outcome], None]


class Threads:
    """As many threads as work at once. They are daemons: one that never ends stops no exit.

    Args:
        at_end: what each calls when it ends.
    """

    def __init__(self, at_end: Sequence[Callable[[], object]] = ()) -> None:
        self._at_end = at_end
        self._waiting: SimpleQueue[tuple[Work, Done] | None] = SimpleQueue()
        self._lock = Lock()
        self._idle = 0
        self._count = 0
        self._is_short = False
        self._loop = asyncio.get_running_loop()
        self._has_ended = asyncio.Event()

    def run(self, work: Work, done: Done) -> None:
        """Calls `done` in the event loop with what `work` returns from a thread."""
        with self._lock:
            is_one_free = self._idle > 0
            if is_one_free:
                self._idle -= 1
            else:
                self._count += 1
        if not is_one_free:
            self._start(self._count)
        self._waiting.put((work, done))

    def _start(self, number: int) -> None:
        """Another one. Where the system gives no more, the work waits for one that is there."""
        try:
            Thread(target=self._serve, name=f"pgbaton-{number}", daemon=True).start()
        except RuntimeError as error:
            with self._lock:
                self._count -= 1
                if self._count == 0:
                    raise
                self._idle -= 1  # the next that is free is not
            if not self._is_short:
                log.warning("jobs wait for one of %d threads: %s", number - 1, error)
            self._is_short = True

    def close(self) -> None:
        """Ends the threads that are idle; the others end when their work does."""
        for _ in range(self._count):
            self._waiting.put(None)

    async def ended(self, seconds: float) -> None:
        """Waits until those that were idle have ended."""
        while self._idle and await happens(self._has_ended, seconds):
            self._has_ended.clear()

    def _serve(self) -> None:
        self._work()
        for call in self._at_end:
            try:
                call()
            except Exception:
                log.exception("%r failed at the end of a thread", call)
        with self._lock:
            self._idle -= 1
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._has_ended.set)

    def _work(self) -> None:
        while (task := self._waiting.get()) is not None:
            work, done = task
            try:
                outcome = work()
            except BaseException as error:
                outcome = of_error(error)
            with self._lock:
                self._idle += 1
            try:
                self._loop.call_soon_threadsafe(done, outcome)
            except RuntimeError:  # the loop is closed: the worker gave this one up
                return
