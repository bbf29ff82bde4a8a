"""Runs jobs for a test: one after the other, here and now."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from datetime import timedelta
from operator import attrgetter
from typing import Any

from pgbaton._runtime.calling import run_async, run_sync
from pgbaton._runtime.hooks import Around, Failure, Surrounding
from pgbaton._runtime.outcomes import Completed, Failed, Outcome, Released, Retry, Stopped
from pgbaton._runtime.running import Run, RunningJob
from pgbaton.models import ClaimedJob
from pgbaton.testing import _database
from pgbaton.testing._target import Target
from pgbaton.worker import Worker

WORKER_ID = "pgbaton.testing"
_VALUES = attrgetter(*(field.name for field in fields(ClaimedJob)))


@dataclass(frozen=True)
class Ran:
    """The ids of the jobs that `run_jobs` ran, in that order, by how their attempts ended."""

    completed: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    """For good."""
    retried: list[int] = field(default_factory=list)
    """They failed and will run again."""
    released: list[int] = field(default_factory=list)
    """Snoozed, or cancelled."""

    def __len__(self) -> int:
        """How many attempts there were."""
        return sum(map(len, (self.completed, self.failed, self.retried, self.released)))

    def __bool__(self) -> bool:
        return len(self) > 0


class Undo(Exception):
    """Leaves the savepoint of an attempt."""


def worker_of(what: Sequence[Any]) -> Worker:
    """The worker that was given, or one with the tasks that were."""
    if len(what) == 1 and isinstance(what[0], Worker):
        return what[0]
    if not what or any(isinstance(one, Worker) for one in what):
        raise TypeError("run_jobs takes one worker, or tasks, or modules with tasks")
    worker = Worker(worker_id=WORKER_ID)
    worker.add(*what)
    return worker


class Running:
    """One call of `run_jobs`."""

    def __init__(self, target: Target, worker: Worker, raise_errors: bool, state: Any) -> None:
        self._target = target
        self._handlers = worker._handlers
        self._hooks = worker._hooks
        self._tags = worker._tags
        self._raises = raise_errors
        self._state = state
        self._ran = Ran()

    async def run(self, advance: bool, limit: int) -> Ran:
        while True:
            job = await self._claim()
            if job is not None:
                if len(self._ran) >= limit:
                    await self._target.call("release_jobs", [job.id], job.lease_token)
                    raise AssertionError(
                        f"job {job.id} of queue {job.queue} is still due after {limit} attempts:"
                        " do jobs enqueue themselves?"
                    )
                await self._run_one(job)
            elif not (advance and await self._advance()):
                return self._ran

    async def _claim(self) -> RunningJob | None:
        queues = self._handlers.queues
        if not queues:
            raise ValueError("the worker has no handler")
        claimed = await self._target.call(
            "claim_job_batch", WORKER_ID, queues, self._handlers.job_types, self._tags, 1
        )
        return RunningJob(*_VALUES(claimed[0])) if claimed else None

    async def _advance(self) -> bool:
        """Moves the clock to where the next job is due; false if there is none."""
        due = await self._target.rows("""
            select j.queue, cast(extract(epoch from j.run_at - pgbaton._now()) as float8)
            from pgbaton.live_jobs as j
            where j.state in ('waiting', 'pending', 'retry', 'unknown_retry')
                and j.run_at > pgbaton._now()
        """)
        waits = [seconds for queue, seconds in due if queue in self._handlers.queues]
        if not waits:
            return False
        seconds = min(waits)
        await _database.advance_clock(self._target, timedelta(seconds=seconds + 0.001))
        return True

    async def _run_one(self, job: RunningJob) -> None:
        handler = self._handlers.find(job)
        if handler is None:
            await self._target.call("release_jobs", [job.id], job.lease_token)
            raise LookupError(
                f"job {job.id} of queue {job.queue} has type {job.job_type!r},"
                " which no handler takes"
            )
        [started] = await self._target.call("start_jobs", [job.id], job.lease_token)
        run = Run(job, handler, self._state)
        outcome: Outcome = Stopped()
        if started.verdict == "ok":
            outcome = await self._attempt(run)
        await self._settle(run, outcome)

    async def _attempt(self, run: Run) -> Outcome:
        outcome: Outcome = Stopped()
        try:
            async with self._target.savepoint():
                outcome = await self._outcome(run)
                if not isinstance(outcome, Completed):
                    raise Undo
        except Undo:
            pass
        return outcome

    async def _outcome(self, run: Run) -> Outcome:
        if run.handler.kind != "async":
            if not self._target.is_async:
                hooks = [blocking(hook) for hook in self._hooks.around]
                return run_sync(run, hooks, NO_LOOP)
            loop = asyncio.get_running_loop()
            return await asyncio.to_thread(run_sync, run, self._hooks.around, loop)
        if self._target.is_async:
            return await asyncio.create_task(run_async(run, self._hooks.around))
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(run_async(run, self._hooks.around))
        raise RuntimeError(
            "an event loop runs here: await run_jobs, with an AsyncClient or an asynchronous"
            " connection or session"
        )

    async def _settle(self, run: Run, outcome: Outcome) -> None:
        job, call, ran = run.job, self._target.call, self._ran
        if isinstance(outcome, Completed):
            await call("complete_job", job.id, outcome.result, job.lease_token)
            ran.completed.append(job.id)
        elif isinstance(outcome, Failed):
            await self._fail(run, outcome)
        elif isinstance(outcome, Released):
            await call("release_jobs", [job.id], job.lease_token, outcome.run_in)
            ran.released.append(job.id)
        else:
            await call("acknowledge_cancellation", job.id, True, job.lease_token)
            ran.released.append(job.id)

    async def _fail(self, run: Run, outcome: Failed) -> None:
        job = run.job
        await self._target.call(
            "fail_job",
            job.id,
            outcome.message,
            job.lease_token,
            not outcome.is_permanent,
            outcome.retry_in,
            outcome.report or None,
        )
        is_last = job.max_attempts is not None and job.attempt >= job.max_attempts
        is_final = outcome.is_permanent or is_last
        (self._ran.failed if is_final else self._ran.retried).append(job.id)
        failure = Failure(job, outcome.error, outcome.message, is_final)
        for observer in self._hooks.observers_of(failure):
            told = observer(failure)
            if inspect.isawaitable(told):
                if not self._target.is_async:
                    raise RuntimeError(f"{observer!r} is asynchronous: await run_jobs")
                await told
        if self._raises and not isinstance(outcome.error, Retry):
            raise outcome.error or AssertionError(f"job {job.id} failed: {outcome.message}")


def blocking(hook: Around) -> Around:
    """The hook, which must not be asynchronous: there is no event loop."""

    def enter(job: RunningJob) -> Surrounding:
        surrounding = hook(job)
        if isinstance(surrounding, AbstractAsyncContextManager):
            raise RuntimeError(f"{hook!r} is asynchronous: await run_jobs, with an AsyncClient")
        return surrounding

    return enter


NO_LOOP: Any = None
"""Only asynchronous hooks ask for it."""
