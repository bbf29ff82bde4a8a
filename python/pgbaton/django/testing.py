"""For tests of Django projects, also within TestCase, which never commits.

`pgbaton.testing` has more: pass it `pgbaton.django.client()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pgbaton.django._connections import client
from pgbaton.django._framework import Task, normalize_json
from pgbaton.django._worker import backend_of, make_worker
from pgbaton.models import JobInfo
from pgbaton.testing import Ran, assert_enqueued, run_jobs

__all__ = ["assert_task_enqueued", "run_tasks"]


def run_tasks(
    queues: Iterable[str] | None = None,
    *,
    backend: str = "default",
    advance: bool = False,
    raise_errors: bool = True,
    limit: int = 1000,
) -> Ran:
    """Runs the tasks that are due now, on the connection of the test, until none is.

    Args:
        queues (Iterable[str]): only these; default all of the backend.
        backend (str): alias in the setting TASKS; default `default`.
        advance (bool): go on with what is due later by moving the clock of pgbaton; default
            false.
        raise_errors (bool): raise what a task raised; default true.
        limit (int): attempts at most; default 1000.

    Returns:
        Ran: the ids of what ran, by how it ended.

    Raises:
        AssertionError: the limit was reached: does a task enqueue itself?
        ValueError: the backend is not pgbaton's, or does not have such a queue.
    """
    worker = make_worker(backend, queues, closes_connections=False)
    return run_jobs(
        client(backend_of(backend).database),
        worker,
        advance=advance,
        raise_errors=raise_errors,
        limit=limit,
    )


def assert_task_enqueued(
    task: Task[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    count: int | None = None,
    **expected: Any,
) -> list[JobInfo]:
    """Fails unless such a task was enqueued; it says in what the nearest one differs.

    Args:
        task (Task): the task; its queue counts, too.
        args (Sequence): of the call; default any, or none if kwargs are given.
        kwargs (Mapping): of the call; default any, or none if args are given.
        count (int): how many; default at least one.
        **expected: fields of JobInfo and their values, for example singleton_key, run_at or state.

    Returns:
        list[JobInfo]: the jobs that fit.

    Raises:
        AssertionError: there is none, or another number.
    """
    payload: Any = ...
    if args is not None or kwargs is not None:
        payload = normalize_json({"args": list(args or ()), "kwargs": dict(kwargs or {})})
    return assert_enqueued(
        client(backend_of(task.backend).database),
        task.queue_name,
        payload,
        count=count,
        job_type=task.module_path,
        **expected,
    )
