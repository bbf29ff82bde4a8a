"""Threads for handlers that are plain functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread

from pgbaton._runtime.outcomes import Outcome, of_error

Work = Callable[[], Outcome]
Done = Callable[[Outcome], None]


class Threads:
    """As many threads as work at once. They are daemons: one that never ends stops no exit."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Work, Done] | None] = SimpleQueue()
        self._lock = Lock()
        self._idle = 0
        self._count = 0
        self._loop = asyncio.get_running_loop()

    def run(self, work: Work, done: Done) -> None:
        """Calls `done` in the event loop with what `work` returns from a thread."""
        with self._lock:
            is_one_free = self._idle > 0
            if is_one_free:
                self._idle -= 1
            else:
                self._count += 1
                number = self._count
        self._waiting.put((work, done))
        if not is_one_free:
            Thread(target=self._serve, name=f"pgbaton-{number}", daemon=True).start()

    def close(self) -> None:
        """Ends the threads that are idle; the others end when their work does."""
        for _ in range(self._count):
            self._waiting.put(None)

    def _serve(self) -> None:
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
