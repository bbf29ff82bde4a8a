"""The worker processes."""

from __future__ import annotations

import multiprocessing
from types import TracebackType

from pgbaton.demo import Stuck
from pgbaton.demo._worker import Leg, Report, work

BATCH_SIZES = (100, 200, 300, 500)  # one worker each
PATIENCE_SECONDS = 60


class Crew:
    """Starts the workers; `dismiss` ends them when nothing is left to claim."""

    def __init__(self, dsn: str, broken: Leg) -> None:
        # Spawned: a fork would share Spark's sockets.
        context = multiprocessing.get_context("spawn")
        self._stop = context.Event()
        self._reports = context.SimpleQueue()
        self._processes = [
            context.Process(
                target=work,
                args=(dsn, f"worker-{n}", size, broken, self._stop, self._reports),
                daemon=True,
            )
            for n, size in enumerate(BATCH_SIZES, start=1)
        ]

    def __enter__(self) -> Crew:
        for process in self._processes:
            process.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.terminate()
            process.join()

    def require_alive(self) -> None:
        for process in self._processes:
            if not process.is_alive():
                raise Stuck(f"{process.name} ended with exit code {process.exitcode}")

    def dismiss(self) -> list[Report]:
        self._stop.set()
        for process in self._processes:
            process.join(PATIENCE_SECONDS)
        reports = []
        while not self._reports.empty():
            reports.append(self._reports.get())
        return reports
