"""A worker: calls a function of yours for each job."""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import ModuleType
from typing import Any, TypeVar

from pgbaton._arguments import (
    Interval,
    argument,
    check_boolean,
    check_duration,
    check_function,
    integer,
    interval,
    not_what_is_wanted,
    several,
    text,
    there,
    word,
)
from pgbaton._codec import Encode, check_coder
from pgbaton._runtime.coding import Coding, Decode
from pgbaton._runtime.engine import POLL, Engine, Handlers
from pgbaton._runtime.health import answering
from pgbaton._runtime.hooks import (
    Failure,
    Hooks,
    Life,
    as_context_manager,
    is_asynchronous,
)
from pgbaton._runtime.outcomes import Cancelled, Fail, Retry, Rules, Snooze, check_rules
from pgbaton._runtime.running import Handler, RunningJob, current_job
from pgbaton._runtime.settings import Counts, Settings
from pgbaton.tasks import Task, can_be_found

__all__ = [
    "Cancelled",
    "Counts",
    "Fail",
    "Failure",
    "Retry",
    "RunningJob",
    "Snooze",
    "Worker",
    "current_job",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Hook = TypeVar("Hook", bound=Callable[[Failure], Any])


class Worker:
    """Claims jobs and runs handlers for them until it is stopped.

    Args:
        dsn (str): connection string or URL; default what `run` is given, else libpq's environment
            (PGHOST, PGDATABASE, PGSERVICE, ...).
        worker_id (str): name of the worker, 1 to 255 bytes, not used by another one at the same
            time; default host, process and a random part.
        capacity (int): jobs it holds at once; default 10.
        queue_capacity (Mapping[str, int]): a separate capacity for each of these queues, so that
            its jobs and those of other queues do not hold each other up. Such a queue has two
            more connections and a separate worker_id, `WORKER_ID QUEUE`. Default none.
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
        maintenance (bool): call run_maintenance every minute; default true.
        call_timeout (timedelta): the statement_timeout of its calls, unless the dsn, role or
            database has one, and not through a pooler; default 5 minutes.
        keep_stacks (bool): keep the traceback of a handler that failed, up to 8,000 characters,
            for job_attempts; default true.
        create_queues (bool): make queues of handlers that are not there, as create_queue does
            without further settings; needs the rights of an operator. Default false: it waits
            until somebody creates them, and works for the others.
        encode (Callable): makes JSON of what handlers return, for example Codec().encode; what
            fails is a CodecError of the attempt. Default: results are JSON already.
        decode (Callable[[RunningJob], Any]): makes of a job what its handler finds as
            `job.payload`; hooks find the payload as it is stored. What it raises fails the attempt
            as a CodecError; Fail, Retry and Snooze mean what they mean in a handler. For handlers
            of a process both have to be functions of a module. Default: as it is stored.
    """

    def __init__(
        self,
        dsn: str | None = None,
        *,
        worker_id: str | None = None,
        capacity: int = 10,
        queue_capacity: Mapping[str, int] | None = None,
        batch_size: int = 100,
        tags: Iterable[str] = (),
        lease: Interval | None = None,
        listen: bool = True,
        listen_dsn: str | None = None,
        poll_every: timedelta | None = None,
        shutdown_timeout: timedelta = timedelta(seconds=30),
        maintenance: bool = True,
        call_timeout: timedelta = timedelta(minutes=5),
        keep_stacks: bool = True,
        create_queues: bool = False,
        encode: Encode | None = None,
        decode: Decode | None = None,
    ) -> None:
        own = _capacities(queue_capacity)
        _check_words(dsn=dsn, worker_id=worker_id, listen_dsn=listen_dsn)
        _check_numbers(capacity=capacity, batch_size=batch_size)
        _check_durations(shutdown_timeout=shutdown_timeout, call_timeout=call_timeout)
        if poll_every is not None:
            _check_durations(poll_every=poll_every)
        _check_switches(
            listen=listen, maintenance=maintenance, keep_stacks=keep_stacks,
            create_queues=create_queues,
        )  # fmt: skip
        with argument("lease"):
            interval(lease)
        with argument("tags"):
            own_tags = tuple(map(word, several(tags)))
        if min(capacity, batch_size, *own.values()) < 1:
            raise ValueError(
                f"capacity is {capacity}, batch_size is {batch_size}, queue_capacity is {own}:"
                " at least 1"
            )
        check_coder("encode", encode)
        check_coder("decode", decode)
        self._coding = Coding(encode, decode)
        self.worker_id = worker_id or default_worker_id()
        self._is_named = worker_id is not None
        self._pid = os.getpid()
        self._dsn = dsn
        self._capacity = capacity
        self._queue_capacity = own
        self._create_queues = create_queues
        self._batch_size = batch_size
        self._tags = own_tags
        self._lease = lease
        self._listens = listen
        self._listen_dsn = listen_dsn
        self._poll_every = poll_every
        self._shutdown_timeout = shutdown_timeout
        self._maintenance = maintenance
        self._call_timeout = call_timeout
        self._keep_stacks = keep_stacks
        self._handlers = Handlers()
        self._added: list[Callable[..., Any]] = []
        self._hooks = Hooks()
        self._engines: list[Engine] = []
        self._is_stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None  # of the last run
        self._early_stops: list[bool] = []  # before the first
        self._switch = threading.RLock()  # from a signal's handler too

    def handler(
        self,
        queue: str,
        job_type: str | None = None,
        *,
        process: bool = False,
        timeout: timedelta | None = None,
        memory_limit: int | None = None,
        rules: Rules | None = None,
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
            rules (Mapping): what exceptions mean, by type: a Fail, Retry or Snooze, or a function
                that makes one of the exception, or None for what it meant without rules. The type
                nearest to that of the exception counts. Default none.

        Returns:
            Callable: the decorator, which gives back the function as it is.

        Raises:
            ValueError: there is such a handler already, or a memory_limit without process.
            TypeError: the function cannot be run in that way.
        """
        word(queue)
        text(job_type)
        integer(memory_limit)
        check_duration(timeout)
        check_rules(rules)
        with argument("process"):
            check_boolean(process)
        check_process(process, memory_limit, rules)

        def register(function: Function) -> Function:
            check_function(function, "one that takes a RunningJob")
            if isinstance(function, Task):
                raise not_what_is_wanted(function, "a handler", "it to Worker.add")
            kind = kind_of(function, process)
            handler = Handler(function, kind, timeout, memory_limit, rules)
            self._handlers.add(queue, job_type, self._coding.around(handler))
            return function

        return register

    def add(self, *tasks: Task[..., Any] | ModuleType) -> None:
        """Makes the worker run tasks.

        Args:
            *tasks (Task | ModuleType): tasks, or modules with tasks: all that the module has.
                A task that is given twice is added once.

        Raises:
            ValueError: another handler takes the same queue and job type, or a module has none.
            TypeError: a task cannot be run, for example because an annotation is unknown.
        """
        for one in tasks:
            for task in tasks_of(one) if isinstance(one, ModuleType) else [one]:
                self._add(task)

    def _add(self, task: Task[..., Any]) -> None:
        if not isinstance(task, Task):
            raise not_what_is_wanted(task, "a task", "what @task(queue) made, or a module with it")
        if any(task.function is known for known in self._added):  # not every object has a hash
            return
        task.check()
        check_process(task.process, task.memory_limit, task.rules)
        kind_of(task.function, task.process)
        if task.process and not can_be_found(task):
            raise TypeError(
                f"{task!r} is not what its module has as {task.function.__qualname__}:"
                " another process cannot import it"
            )
        kind = "process" if task.process else "async" if task.is_async else "thread"
        run = task.run_async if task.is_async else task.run_sync
        handler = Handler(run, kind, task.timeout, task.memory_limit, task.rules)
        for job_type in (task.name, *task.aliases):
            self._handlers.add(task.queue, job_type, self._coding.around(handler))
        self._added.append(task.function)

    def around(self, hook: Function) -> Function:
        """Decorates a hook around each attempt of each handler.

        What it raises fails the attempt, and it sees what the handler raises, as any `with`.

        Args:
            hook (Callable[[RunningJob], AbstractContextManager | AbstractAsyncContextManager]): a
                context manager, or a function that yields once. It is entered in the thread of the
                handler, an asynchronous one in the event loop; around a process handler in the
                worker. The first hook is the outermost.

        Returns:
            Callable: the hook as it is.
        """
        check_function(hook, "one that takes a RunningJob and yields once")
        self._hooks.around.append(as_context_manager(hook))
        return hook

    def on_error(self, hook: Hook) -> Hook:
        """Decorates a hook that is told of each failed attempt, once the server knows of it.

        What it raises is only logged. It runs in a thread, an `async def` in the event loop.

        Args:
            hook (Callable[[Failure], None]): is given a Failure.

        Returns:
            Callable: the hook as it is.
        """
        check_function(hook, "one that takes a Failure")
        self._hooks.on_error.append(hook)
        return hook

    def on_failed_for_good(self, hook: Hook) -> Hook:
        """Decorates a hook that is told of each job that failed for good: `on_error` without the
        attempts after which the job runs again.

        Args:
            hook (Callable[[Failure], None]): is given a Failure.

        Returns:
            Callable: the hook as it is.
        """
        check_function(hook, "one that takes a Failure")
        self._hooks.on_failed_for_good.append(hook)
        return hook

    def lifespan(self, make: Function) -> Function:
        """Decorates what is entered before the first claim and left after the last handler.

        Args:
            make (Callable[[], AbstractAsyncContextManager | AbstractContextManager]): a context
                manager, or a function that yields once. What it yields is `job.state` in handlers
                and hooks, except in a process.

        Returns:
            Callable: the function as it is.

        Raises:
            ValueError: the worker has one already.
        """
        check_function(make, "one that yields once")
        if self._hooks.lifespan is not None:
            raise ValueError("the worker has a lifespan already: enter both in one")
        self._hooks.lifespan = as_context_manager(make)
        return make

    def run(
        self, dsn: str | None = None, *, burst: bool = False, health: str | None = None
    ) -> Counts:
        """Works until it is stopped: by `stop`, SIGTERM or SIGINT, the second one at once.

        Args:
            dsn (str): connection string or URL; default the constructor's, else libpq's
                environment.
            burst (bool): end as soon as nothing of its queues can be claimed and its handlers
                have ended. What is due later or stands behind a failed job stays. Default false.
            health (str): host:port, or :port for all addresses, where GET /healthz (it lives) and
                /readyz (it has its database and takes jobs) are answered; default nowhere.

        Returns:
            Counts: what it did.

        Raises:
            psycopg.OperationalError: the first connection fails; later it connects again.
            OSError: health cannot listen there.
            UnknownQueue: in a burst, a handler's queue does not exist.
            ValueError: there is no handler, or none for a queue of queue_capacity.
            RuntimeError: the process of a handler imports the program that calls this.
        """
        return asyncio.run(self._run_with_signals(dsn, burst, health))

    async def run_async(
        self, dsn: str | None = None, *, burst: bool = False, health: str | None = None
    ) -> Counts:
        """The same as `run` as part of your event loop; signals are yours then.

        Args:
            dsn (str): connection string or URL; default the constructor's, else libpq's
                environment.
            burst (bool): end as soon as nothing of its queues can be claimed and its handlers
                have ended. What is due later or stands behind a failed job stays. Default false.
            health (str): host:port, or :port for all addresses, where GET /healthz (it lives) and
                /readyz (it has its database and takes jobs) are answered; default nowhere.

        Returns:
            Counts: what it did.

        Raises:
            psycopg.OperationalError: the first connection fails; later it connects again.
            OSError: health cannot listen there.
            UnknownQueue: in a burst, a handler's queue does not exist.
            ValueError: there is no handler, none for a queue of queue_capacity, or it runs already.
            RuntimeError: the process of a handler imports the program that calls this.
        """
        _check_words(dsn=dsn, health=health)
        _check_switches(burst=burst)
        check_program()
        self._enter_process()
        if self._engines:
            raise ValueError(f"worker {self.worker_id} runs already")
        settings = self._settings(dsn or self._dsn or "", burst)
        self._start(self._make_engines(settings))
        try:
            async with answering(health, self._is_ready):
                return await self._run_engines(settings)
        finally:
            with self._switch:
                self._engines = []

    def _start(self, engines: list[Engine]) -> None:
        with self._switch:
            self._loop, self._is_stopping = asyncio.get_running_loop(), False
            self._engines = engines
            early_stops, self._early_stops = self._early_stops, []
        for now in early_stops:
            self._stop_engines(now)

    async def _run_engines(self, settings: Settings) -> Counts:
        """Once; a burst with several until none finds anything, since they enqueue for others."""
        total = Counts()
        while True:
            await run_together(self._engines)
            done = sum((engine.counts for engine in self._engines), Counts())
            total += done
            if len(self._engines) == 1 or self._is_stopping or done == Counts():
                return total
            self._engines = self._make_engines(settings)

    def _make_engines(self, settings: Settings) -> list[Engine]:
        """One for each queue with a capacity of its own, and one for the others."""
        queues = self._handlers.queues
        if not_handled := sorted(self._queue_capacity.keys() - queues):
            raise ValueError(f"queue_capacity names {', '.join(not_handled)}: there is no handler")
        life = Life(self._hooks.lifespan) if self._hooks.lifespan else None
        parts = [
            (replace(settings, worker_id=f"{self.worker_id} {queue}", capacity=own), [queue])
            for queue, own in self._queue_capacity.items()
        ]
        if shared := [queue for queue in queues if queue not in self._queue_capacity]:
            parts.insert(0, (settings, shared))
        return [Engine(how, self._handlers.of(own), self._hooks, life) for how, own in parts]

    def _is_ready(self) -> bool:
        return all(engine.is_ready for engine in self._engines)

    def stop(self, now: bool = False) -> None:
        """Ends a running worker, from any thread: it claims no more and lets handlers end.

        What was not started goes back, and what still runs after the shutdown_timeout too,
        without costing an attempt. Before its first run it makes that run end at once, for a
        thread that has not come to it yet. After a run it does nothing.

        Args:
            now (bool): without waiting for handlers; default false.
        """
        with self._switch:  # its loop is not closed meanwhile
            if self._loop is None:
                self._early_stops.append(now)
            elif self._engines:
                self._loop.call_soon_threadsafe(self._stop_engines, now)

    def _stop_engines(self, now: bool) -> None:
        self._is_stopping = True
        for engine in self._engines:
            engine.stop(now)

    def _enter_process(self) -> None:
        """In a forked process this is another worker than the parent's."""
        if self._pid == os.getpid():
            return
        self._pid, self._engines, self._loop = os.getpid(), [], None
        self._switch = threading.RLock()
        if not self._is_named:
            self.worker_id = default_worker_id()

    async def _run_with_signals(self, dsn: str | None, burst: bool, health: str | None) -> Counts:
        loop = asyncio.get_running_loop()
        signals = [signal.SIGTERM, signal.SIGINT]
        if threading.current_thread() is not threading.main_thread():
            signals = []  # Python hands them to the main thread only
        before = {number: signal.getsignal(number) for number in signals}
        for number in signals:
            loop.add_signal_handler(number, self.stop)
        try:
            return await self.run_async(dsn, burst=burst, health=health)
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)  # which sets what Python begins with
                if handler is not None:  # one that is not Python's
                    signal.signal(number, handler)

    def _settings(self, dsn: str, burst: bool) -> Settings:
        if not self._handlers.queues:
            raise ValueError(
                "a worker needs a handler: decorate one with @worker.handler(queue), or"
                " add tasks to it"
            )
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
            keep_stacks=self._keep_stacks,
            create_queues=self._create_queues,
            burst=burst,
        )


async def run_together(engines: Sequence[Engine]) -> None:
    """Until all have ended; when one breaks, the others are stopped."""
    if len(engines) == 1:
        await engines[0].run()
        return
    tasks = [asyncio.create_task(engine.run()) for engine in engines]
    try:
        _, going = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for engine in engines if going else ():
            engine.stop()
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    for task in tasks:
        task.result()


def _capacities(given: Mapping[str, int] | None) -> dict[str, int]:
    with argument("queue_capacity"):
        if not isinstance(given, Mapping | None):
            raise not_what_is_wanted(given, "an object", "a dict of numbers by queue")
        for queue, number in (given or {}).items():
            word(queue)
            integer(there(number, "an integer", "an int"))
    return dict(given or {})


def _check_words(**given: str | None) -> None:
    for name, value in given.items():
        with argument(name):
            text(value)


def _check_numbers(**given: int) -> None:
    for name, value in given.items():
        with argument(name):
            integer(there(value, "an integer", "an int"))


def _check_durations(**given: timedelta) -> None:
    for name, value in given.items():
        with argument(name):
            check_duration(there(value, "a duration", "a timedelta"))


def _check_switches(**given: bool) -> None:
    for name, value in given.items():
        with argument(name):
            check_boolean(value)


def default_worker_id() -> str:
    """Host, process and a random part."""
    return f"{socket.gethostname()[:200]}-{os.getpid()}-{secrets.token_hex(3)}"


def tasks_of(module: ModuleType) -> list[Task[..., Any]]:
    found = [value for value in vars(module).values() if isinstance(value, Task)]
    if not found:
        raise ValueError(f"module {module.__name__} has no task: decorate one with @task(queue)")
    return found


def check_process(process: bool, memory_limit: int | None, rules: Rules | None) -> None:
    if memory_limit is not None and not process:
        raise ValueError("memory_limit needs process=True: threads share one memory")
    if process and rules:
        try:
            pickle.dumps(dict(rules))
        except Exception as error:
            raise TypeError(f"rules of a process must be functions of a module: {error}") from error


def check_program() -> None:
    """Raises RuntimeError in a process that only imports the program, to run a handler of it."""
    processes = sys.modules.get("multiprocessing.process")
    if processes and getattr(processes.current_process(), "_inheriting", False):
        raise RuntimeError(
            "the process of a handler imports this program, and must not run the worker as well:"
            " put that below if __name__ == '__main__'"
        )


def kind_of(function: Any, process: bool) -> str:
    is_async = is_asynchronous(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function!r} yields, so a call of it would do nothing: let it return")
    if not process:
        return "async" if is_async else "thread"
    if is_async:
        raise TypeError("a process handler is a plain function: the process has no event loop")
    if "<" in getattr(function, "__qualname__", "<"):
        raise TypeError(f"{function!r} is local: another process cannot import it")
    return "process"
