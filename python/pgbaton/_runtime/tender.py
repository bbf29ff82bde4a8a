"""What a worker does at its side of the queue while handlers run."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial

import psycopg

from pgbaton._async.client import AsyncClient
from pgbaton._leases import Leases
from pgbaton._listening.waiting import happens
from pgbaton._runtime.patience import passes
from pgbaton._runtime.running import Run, RunningJob
from pgbaton._runtime.settings import Settings
from pgbaton.errors import InvalidState, LeaseLost, UnknownJob

log = logging.getLogger("pgbaton.worker")

BUSY_HEARTBEAT = 1.0
"""Seconds: a heartbeat also tells which jobs were cancelled."""
IDLE_HEARTBEAT = 60.0
MAINTENANCE = 60
"""Seconds, counted from the full minute, since that is when schedules are due."""


class Tender:
    """Heartbeats, longer leases, progress, upkeep; one loop that sleeps until something is due.

    Args:
        client (AsyncClient): to call.
        settings (Settings): of the worker.
        held: the runs of the worker, by job and token.
        patiently: makes a call, again and again while the database is away.
    """

    def __init__(
        self,
        client: AsyncClient,
        settings: Settings,
        held: Mapping[tuple[int, int], Run],
        patiently: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]],
    ) -> None:
        self._client = client
        self._settings = settings
        self._held = held
        self._patiently = patiently
        self._claimed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._heartbeat_due = self._loop.time() + IDLE_HEARTBEAT * random.uniform(0.5, 1)  # noqa: S311
        self._maintenance_due = self._loop.time() + random.uniform(0, 2)  # noqa: S311
        self._leases = Leases(self._in_time, partial(client.extend_leases, lease=settings.lease))

    def note_claim(self, jobs: Sequence[RunningJob]) -> None:
        """There is something to tend."""
        self._leases.begin(jobs)
        now = self._loop.time()
        self._heartbeat_due = min(self._heartbeat_due, now + BUSY_HEARTBEAT)
        self._claimed.set()

    async def serve(self) -> None:
        while True:
            self._claimed.clear()
            due = min(self._heartbeat_due, self._maintenance_due, self._leases.due)
            if not await happens(self._claimed, max(0.0, due - self._loop.time())):
                await self._patiently(self._do_what_is_due)

    async def _do_what_is_due(self) -> None:
        await self._extend_leases()
        if self._heartbeat_due <= self._loop.time():
            await self._send_heartbeat()
            await self._send_progress()
        if self._maintenance_due <= self._loop.time():
            if self._settings.maintenance:
                await self._maintain()
            self._maintenance_due = self._loop.time() + seconds_to_maintenance(time.time())

    async def _maintain(self) -> None:
        """Jobs go on even if upkeep is refused or broken."""
        try:
            done = await self._client.run_maintenance(once_a_minute=True)
        except psycopg.Error as error:
            if passes(error):
                raise
            log.error("run_maintenance failed: %s", error, extra={"pgbaton_event": "maintenance"})
            return
        if failed := done.get("failed"):
            log.error(
                "run_maintenance failed in part: %s", failed, extra={"pgbaton_event": "maintenance"}
            )

    async def _send_heartbeat(self) -> None:
        settings = self._settings
        cancelled = set(
            await self._client.worker_heartbeat(
                settings.worker_id, settings.capacity, settings.tags
            )
        )
        held = list(self._held.values())
        for run in held:
            if run.job.id in cancelled:
                run.cancel("cancelled")
        every = BUSY_HEARTBEAT if held else IDLE_HEARTBEAT * random.uniform(0.8, 1)  # noqa: S311
        self._heartbeat_due = self._loop.time() + every

    # Leases

    def _in_time(self) -> Iterator[RunningJob]:
        """Jobs whose leases are ours to extend; not those that ran into their timeout."""
        for run in self._held.values():
            if not run.is_lost and run.cancel_reason != "timeout":
                yield run.job

    async def _extend_leases(self) -> None:
        async for job, verdict in self._leases.extend():
            if run := self._held.get((job.id, job.lease_token)):
                self._heed(run, verdict)

    def _heed(self, run: Run, verdict: str) -> None:
        if verdict == "cancel_requested":
            run.cancel("cancelled")
        elif verdict != "ok" and run.is_running:
            run.lose()

    async def _send_progress(self) -> None:
        for run in list(self._held.values()):
            said, run.progress = run.progress, {}
            if said and not run.is_lost:
                await self._send_progress_of(run, said)

    async def _send_progress_of(self, run: Run, said: dict[str, object]) -> None:
        try:
            answer = await self._client.report_progress(
                run.job.id,
                run.job.lease_token,
                **said,  # type: ignore[arg-type]
            )
        except (InvalidState, LeaseLost, UnknownJob):
            answer = "lease_lost"
        except psycopg.Error as error:  # what one handler says must not end them all
            if passes(error):
                raise
            log.error(
                "the progress of job %s is dropped: %s",
                run.job.id,
                error,
                extra={"pgbaton_event": "progress", "job_id": run.job.id, "queue": run.job.queue},
            )
            return
        self._heed(run, answer)


def seconds_to_maintenance(now: float) -> float:
    """To just after the next full minute; jitter keeps workers from meeting."""
    return MAINTENANCE - now % MAINTENANCE + random.uniform(0, 2)  # noqa: S311
