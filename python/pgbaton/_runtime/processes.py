"""Processes for handlers that need a core of their own, or may crash."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from pgbaton._runtime.outcomes import (
    Failed,
    Outcome,
    Stopped,
    of_error,
    of_result,
    packed,
    unpacked,
)
from pgbaton._runtime.running import CURRENT, Handler, Run, RunningJob
from pgbaton._tracing import outgoing, within
from pgbaton.models import ClaimedJob

CONTEXT = multiprocessing.get_context("spawn")
ENDING = (signal.SIGINT, signal.SIGTERM)
"""The worker's to answer, also when they are sent to all its processes; it kills when it has to."""


class Child:
    """A process that runs one job at a time."""

    def __init__(self) -> None:
        self._pipe, theirs = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=serve, args=(theirs,), daemon=True)
        with _born_deaf():
            self._process.start()
        theirs.close()

    def run(self, run: Run) -> Outcome:
        """Waits for the outcome; a process that ends without one failed the job."""
        try:
            self._pipe.send((run.handler, ClaimedJob(*_values(run.job)), outgoing(None)))
            while True:
                what, said = self._pipe.recv()
                if what == "outcome":
                    return unpacked(*said)
                run.note_progress(said)
        except (EOFError, OSError):
            self._process.join()
            if run.cancel_reason is not None:
                return Stopped()
            return Failed(f"the process of the handler {self._how_it_ended()}")

    def kill(self) -> None:
        self._process.kill()

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def close(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _how_it_ended(self) -> str:
        code = self._process.exitcode or 0
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"exited with code {code}"


@contextmanager
def _born_deaf() -> Iterator[None]:
    """A process that is started here takes ENDING only once it ignores them."""
    resource_tracker.ensure_running()  # which else happens in between, and opens the ears again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _values(job: ClaimedJob) -> list[Any]:
    return [getattr(job, name) for name in ClaimedJob.__dataclass_fields__]


class Processes:
    """As many processes as work at once, each used again."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._is_closed = False

    def run(self, run: Run) -> Outcome:
        """Runs a job in a process and waits for its outcome."""
        child = self._take()
        run.interrupt = child.kill
        if run.cancel_reason is not None:  # asked to stop before there was anything to kill
            child.kill()
        has_answered = False
        try:
            outcome = child.run(run)
            has_answered = True
            return outcome
        finally:
            run.interrupt = None
            # One that was killed this moment still looks alive.
            self._put_back(child, is_good=has_answered and run.cancel_reason is None)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            children, self._all, self._idle = self._all, set(), []
        for child in children:
            child.close()

    def _take(self) -> Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.is_alive:
                    return child
                self._all.discard(child)
                child.close()
        child = Child()
        with self._lock:
            self._all.add(child)
        return child

    def _put_back(self, child: Child, is_good: bool) -> None:
        with self._lock:
            if is_good and child.is_alive and not self._is_closed:
                self._idle.append(child)
                return
            self._all.discard(child)
        child.close()


class ReportingRun(Run):
    """A run in a process, whose worker hears through the pipe of its progress and how it ended.

    The handler may have threads of its own: they take turns, and what those that outlive it report
    is not said, since the worker would take it for progress of the next job.
    """

    def __init__(self, job: RunningJob, handler: Handler, pipe: Connection) -> None:
        super().__init__(job, handler)
        self._pipe = pipe
        self._turn = Lock()

    def note_progress(self, said: dict[str, Any]) -> None:
        with self._turn:
            if self.is_running:
                self._pipe.send(("progress", said))

    def end(self, outcome: Outcome) -> None:
        with self._turn:
            self.is_running = False
            self._pipe.send(("outcome", packed(outcome)))


def serve(pipe: Connection) -> None:
    """What a process does: jobs, until the worker closes the pipe."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    # What a handler starts must not hold the pipe open after this process was killed.
    os.set_inheritable(pipe.fileno(), False)
    while True:
        try:
            sent = pipe.recv_bytes()
        except EOFError:
            return
        try:
            handler, job, span = pickle.loads(sent)  # noqa: S301
        except BaseException as error:  # of the handler's module, which is imported here
            pipe.send(("outcome", packed(of_error(error))))
            continue
        run = ReportingRun(RunningJob(*_values(job)), handler, pipe)
        with within(span):
            run.end(copy_context().run(_outcome, handler, run.job))


def _outcome(handler: Handler, job: RunningJob) -> Outcome:
    CURRENT.set(job)
    try:
        with _memory_limit(handler.memory_limit):
            result = handler.function(job)
    except BaseException as error:
        return of_error(error, handler.rules)
    return of_result(result)


@contextmanager
def _memory_limit(limit: int | None) -> Iterator[None]:
    """The limit is lifted before an error is written down."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
