"""Runs the tasks of a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from django.db import connections
from django.utils.module_loading import import_string

from pgbaton._runtime.running import RunningJob
from pgbaton.django._connections import close_connections, dsn_of, problem_of
from pgbaton.django._framework import InvalidTaskBackend, task_backends
from pgbaton.django.tasks import PgbatonBackend
from pgbaton.worker import Worker


def make_worker(
    backend: str = "default",
    queues: Iterable[str] | None = None,
    *,
    capacity: int = 10,
    worker_id: str | None = None,
    shutdown_timeout: timedelta = timedelta(seconds=30),
    closes_connections: bool = True,
) -> Worker:
    """A worker for the queues of a backend.

    Raises:
        ValueError: the backend is not pgbaton's, its database is not PostgreSQL, it does not have
            such a queue, or names none, or `worker` of its OPTIONS is no function.
    """
    ours = backend_of(backend)
    if problem := problem_of(ours.database):
        raise ValueError(problem)
    wanted = sorted(set(queues or ours.queues))
    if not wanted:
        raise ValueError(f"QUEUES of the backend {backend!r} is empty, which means any: name some")
    if ours.queues and (unknown := set(wanted) - ours.queues):
        raise ValueError(f"QUEUES of the backend {backend!r} does not have {sorted(unknown)}")
    worker = Worker(
        dsn_of(ours.database),
        worker_id=worker_id,
        capacity=capacity,
        shutdown_timeout=shutdown_timeout,
    )
    if closes_connections:
        worker.around(close_connections)
        # Those that Django keeps open would be in the way of who drops the database of a test.
        worker._hooks.at_thread_end.append(connections.close_all)

    # In a thread, also what is async: there it finds the connection that sync_to_async uses.
    def run(job: RunningJob) -> object:
        return ours.run(job)

    for queue in wanted:
        worker.handler(queue)(run)
    if prepare := _preparation(ours):
        prepare(worker)
    return worker


def _preparation(backend: PgbatonBackend) -> Callable[[Worker], object] | None:
    """What the project does to a worker before it runs, as to add hooks."""
    found = named = backend.options.get("worker")
    if isinstance(named, str):
        try:
            found = import_string(named)
        except ImportError as error:
            raise ValueError(f"'worker' in OPTIONS of {backend.alias!r}: {error}") from error
    if found is None or callable(found):
        return found
    raise ValueError(
        f"'worker' in OPTIONS of {backend.alias!r} is {named!r}: pass a function that takes a"
        " Worker, or its dotted name"
    )


def backend_of(alias: str) -> PgbatonBackend:
    try:
        backend = task_backends[alias]
    except InvalidTaskBackend as error:
        raise ValueError(str(error)) from error
    if not isinstance(backend, PgbatonBackend):
        raise ValueError(f"the backend {alias!r} of the setting TASKS is not PgbatonBackend")
    return backend
