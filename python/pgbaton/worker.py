"""A worker: calls a function of yours for each job."""

from __future__ import annotations

import asyncio
import inspect
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar

from pgbaton._arguments import Interval
from pgbaton._runtime.engine import POLL, Engine, Handlers
from pgbaton._runtime.outcomes import Cancelled, Fail, Retry, Snooze
from pgbaton._runtime.running import Handler, RunningJob
from pgbaton._runtime.settings import Settings

__all__ = ["Cancelled", "Fail", "Retry", "RunningJob", "Snooze", "Worker"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Worker:
    """Claims jobs and runs handlers for them until it is stopped.

    Args:
        dsn (str): connection string or URL; default what `run` is given, else libpq's environment
            (PGHOST, PGDATABASE, PGSERVICE, ...).
        worker_id (str): name of the worker, 1 to 255 bytes, not used by another one at the same
            time; default host, process and a random part.
        capacity (int): jobs it holds at once; default 10.
        batch_size (int): jobs it claims in one call; default 100.
        tags (Iterable[str]): only jobs that carry all of them; default {}.
        lease (timedelta): how long a claim holds a job; it is extended while a handler runs.
            Default: the queue's.
        listen (bool): be woken by notifications; default true. Through PgBouncer pass false, or
            listen_dsn.
        listen_dsn (str): a direct way to the server, to listen there; default dsn.
        poll_every (timedelta): how often to look for work without being woken; default 30
            seconds, 1 second when it does not listen.
        shutdown_timeout (timedelta): how long handlers may go on after a stop; default 30
            seconds.
        maintenance (bool): call run_maintenance now and then; default true.
        call_timeout (timedelta): the statement_timeout of its calls, unless the dsn, role or
            database has one, and not through a pooler; default 5 minutes.
    """

    def __init__(
        self,
        dsn: str | None = None,
        *,
        worker_id: str | None = None,
        capacity: int = 10,
        batch_size: int = 100,
        tags: Iterable[str] = (),
        lease: Interval | None = None,
        listen: bool = True,
        listen_dsn: str | None = None,
        poll_every: timedelta | None = None,
        shutdown_timeout: timedelta = timedelta(seconds=30),
        maintenance: bool = True,
        call_timeout: timedelta = timedelta(minutes=5),
    ) -> None:
        if capacity < 1 or batch_size < 1:
            raise ValueError(f"capacity is {capacity}, batch_size is {batch_size}: at least 1")
        self.worker_id = worker_id or default_worker_id()
        self._is_named = worker_id is not None
        self._pid = os.getpid()
        self._dsn = dsn
        self._capacity = capacity
        self._batch_size = batch_size
        self._tags = tuple(tags)
        self._lease = lease
        self._listens = listen
        self._listen_dsn = listen_dsn
        self._poll_every = poll_every
        self._shutdown_timeout = shutdown_timeout
        self._maintenance = maintenance
        self._call_timeout = call_timeout
        self._handlers = Handlers()
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def handler(
        self,
        queue: str,
        job_type: str | None = None,
        *,
        process: bool = False,
        timeout: timedelta | None = None,
        memory_limit: int | None = None,
    ) -> Callable[[Function], Function]:
        """Decorates the function that is called for the jobs of a queue.

        It is given a RunningJob. What it returns is kept as the job's result; an exception fails
        the attempt. An `async def` runs in the event loop, another function in a thread, or in a
        process of its own.

        Args:
            queue (str): where from.
            job_type (str): only these; default those that no other handler takes.
            process (bool): run it in another process, which may crash or be killed alone. The
                function must be one of a module, not a local one. Default false.
            timeout (timedelta): how long it may run; default for ever. Then it is interrupted;
                a thread cannot be: its lease is not extended any more.
            memory_limit (int): bytes of address space of its process; default unlimited.

        Returns:
            Callable: the decorator, which gives back the function as it is.

        Raises:
            ValueError: there is such a handler already, or a memory_limit without process.
            TypeError: the function cannot be run in that way.
        """
        if memory_limit is not None and not process:
            raise ValueError("memory_limit needs process=True: threads share one memory")

        def register(function: Function) -> Function:
            kind = kind_of(function, process)
            self._handlers.add(queue, job_type, Handler(function, kind, timeout, memory_limit))
            return function

        return register

    def run(self, dsn: str | None = None) -> None:
        """Works until it is stopped: by `stop`, SIGTERM or SIGINT, the second one at once.

        Args:
            dsn (str): connection string or URL; default the constructor's, else libpq's
                environment.

        Raises:
            psycopg.OperationalError: the first connection fails; later it connects again.
            UnknownQueue: a handler's queue does not exist.
            ValueError: there is no handler.
        """
        asyncio.run(self._run_with_signals(dsn))

    async def run_async(self, dsn: str | None = None) -> None:
        """The same as `run` as part of your event loop; signals are yours then.

        Args:
            dsn (str): connection string or URL; default the constructor's, else libpq's
                environment.

        Raises:
            psycopg.OperationalError: the first connection fails; later it connects again.
            UnknownQueue: a handler's queue does not exist.
            ValueError: there is no handler, or it runs already.
        """
        self._enter_process()
        if self._engine is not None:
            raise ValueError(f"worker {self.worker_id} runs already")
        self._engine = Engine(self._settings(dsn or self._dsn or ""), self._handlers)
        self._loop = asyncio.get_running_loop()
        try:
            await self._engine.run()
        finally:
            self._engine = None

    def stop(self, now: bool = False) -> None:
        """Ends a running worker, from any thread: it claims no more and lets handlers end.

        What was not started goes back, and what still runs after the shutdown_timeout too,
        without costing an attempt.

        Args:
            now (bool): without waiting for handlers; default false.
        """
        engine, loop = self._engine, self._loop
        if engine is not None and loop is not None:
            loop.call_soon_threadsafe(engine.stop, now)

    def _enter_process(self) -> None:
        """In a forked process this is another worker than the parent's."""
        if self._pid == os.getpid():
            return
        self._pid, self._engine, self._loop = os.getpid(), None, None
        if not self._is_named:
            self.worker_id = default_worker_id()

    async def _run_with_signals(self, dsn: str | None) -> None:
        loop = asyncio.get_running_loop()
        signals = [signal.SIGTERM, signal.SIGINT]
        if threading.current_thread() is not threading.main_thread():
            signals = []  # Python hands them to the main thread only
        for number in signals:
            loop.add_signal_handler(number, self.stop)
        try:
            await self.run_async(dsn)
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def _settings(self, dsn: str) -> Settings:
        if not self._handlers.queues:
            raise ValueError("a worker needs a handler: decorate one with @worker.handler(queue)")
        listen_dsn = (self._listen_dsn or dsn) if self._listens else None
        slow = timedelta(seconds=30) if self._listens else POLL
        return Settings(
            dsn=dsn,
            worker_id=self.worker_id,
            capacity=self._capacity,
            batch_size=self._batch_size,
            tags=self._tags,
            lease=self._lease,
            listen_dsn=listen_dsn,
            poll_every=self._poll_every or slow,
            shutdown_timeout=self._shutdown_timeout,
            maintenance=self._maintenance,
            call_timeout=self._call_timeout,
        )


def default_worker_id() -> str:
    """Host, process and a random part."""
    return f"{socket.gethostname()[:200]}-{os.getpid()}-{secrets.token_hex(3)}"


def kind_of(function: Any, process: bool) -> str:
    is_async = any(map(inspect.iscoroutinefunction, (function, function.__call__)))
    if not process:
        return "async" if is_async else "thread"
    if is_async:
        raise TypeError("a process handler is a plain function: the process has no event loop")
    if "<" in getattr(function, "__qualname__", "<"):
        raise TypeError(f"{function!r} is local: another process cannot import it")
    return "process"
