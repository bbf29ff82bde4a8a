"""For tests of applications: look at what was enqueued, run it, move the clock, clean up.

All take what a task can be enqueued to: a client, connection or session. Of an asynchronous one
the answer has to be awaited.
"""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import timedelta
from types import ModuleType
from typing import Any, overload

from pgbaton._producers import AsyncTarget, Target
from pgbaton.models import JobInfo
from pgbaton.tasks import Task
from pgbaton.testing import _database, _enqueued, _running
from pgbaton.testing._running import Ran
from pgbaton.testing._target import answer, target_of
from pgbaton.worker import Worker

__all__ = ["Ran", "advance_clock", "assert_enqueued", "clean", "enqueued", "run_jobs"]

Runnable = Worker | Task[..., Any] | ModuleType


@overload
def enqueued(
    to: AsyncTarget, what: Task[..., Any] | str | None = None
) -> Awaitable[list[JobInfo]]: ...


@overload
def enqueued(to: Target, what: Task[..., Any] | str | None = None) -> list[JobInfo]: ...


def enqueued(to: Any, what: Task[..., Any] | str | None = None) -> Any:
    """The jobs that are there, live or ended, in the order of their creation.

    Args:
        to (Client | AsyncClient): or a connection or session: it sees what its transaction has
            enqueued so far.
        what (Task | str): those of a task or of a queue; default all.

    Returns:
        list[JobInfo]: as get_job has them.
    """
    return answer(to, _enqueued.jobs(target_of(to), what))


@overload
def assert_enqueued(
    to: AsyncTarget,
    what: Task[..., Any] | str,
    payload: Any = ...,
    *,
    count: int | None = None,
    **expected: Any,
) -> Awaitable[list[JobInfo]]: ...


@overload
def assert_enqueued(
    to: Target,
    what: Task[..., Any] | str,
    payload: Any = ...,
    *,
    count: int | None = None,
    **expected: Any,
) -> list[JobInfo]: ...


def assert_enqueued(
    to: Any,
    what: Task[..., Any] | str,
    payload: Any = ...,
    *,
    count: int | None = None,
    **expected: Any,
) -> Any:
    """Fails unless such a job is there; it says in what the nearest one differs.

    Args:
        to (Client | AsyncClient): or a connection or session: it sees what its transaction has
            enqueued so far.
        what (Task | str): a task or a queue.
        payload (Any): for a task its arguments by name, as a dict of what it is called with;
            for a queue the payload. Default any.
        count (int): how many; default at least one.
        **expected: fields of JobInfo and their values, for example singleton_key, priority,
            tags, state or attempt.

    Returns:
        list[JobInfo]: the jobs that fit.

    Raises:
        AssertionError: there is none, or another number.
        TypeError: JobInfo has no such field.
    """
    return answer(to, _enqueued.fitting(target_of(to), what, payload, count, expected))


@overload
def run_jobs(
    to: AsyncTarget,
    *what: Runnable,
    advance: bool = False,
    raise_errors: bool = True,
    limit: int = 1000,
    state: Any = None,
) -> Awaitable[Ran]: ...


@overload
def run_jobs(
    to: Target,
    *what: Runnable,
    advance: bool = False,
    raise_errors: bool = True,
    limit: int = 1000,
    state: Any = None,
) -> Ran: ...


def run_jobs(
    to: Any,
    *what: Runnable,
    advance: bool = False,
    raise_errors: bool = True,
    limit: int = 1000,
    state: Any = None,
) -> Any:
    """Runs what is due now, one after the other in this process, until nothing is.

    Jobs are claimed, run with the hooks of the worker and completed or failed as in production,
    through the real functions of the database, also in a transaction that is rolled back later.
    There each attempt has a savepoint: what a failed one wrote over this connection is undone.

    Plain functions run in this thread if `to` is synchronous, else in another thread; process
    handlers run here, too. Timeouts and the lifespan of the worker are left out.

    Args:
        to (Client | AsyncClient): or a connection or session.
        *what (Worker | Task | ModuleType): one worker, or tasks, or modules with tasks.
        advance (bool): go on with what is due later, for example retries, by moving the clock as
            `advance_clock` does; default false.
        raise_errors (bool): raise what a handler raised, after its attempt was failed, unless it
            is a Retry; default true.
        limit (int): attempts at most; default 1000.
        state (Any): what handlers find in `job.state`; default None.

    Returns:
        Ran: the ids of what ran, by how it ended.

    Raises:
        AssertionError: the limit was reached: does a job enqueue itself?
        LookupError: a job of a type that no handler takes.
    """
    worker = _running.worker_of(what)
    running = _running.Running(target_of(to), worker, raise_errors, state)
    return answer(to, running.run(advance, limit))


@overload
def advance_clock(to: AsyncTarget, by: timedelta) -> Awaitable[None]: ...


@overload
def advance_clock(to: Target, by: timedelta) -> None: ...


def advance_clock(to: Any, by: timedelta) -> Any:
    """Moves the clock of pgbaton, so that later jobs, retries and leases are due.

    It goes on from there, until the transaction is rolled back or `clean` sets it right. Clocks
    of Python and now() of PostgreSQL stay as they are.

    Args:
        to (Client | AsyncClient): or a connection or session, of the owner of the schema.
        by (timedelta): how far.

    Raises:
        ValueError: the name of the database does not have `test` in it.
    """
    return answer(to, _database.advance_clock(target_of(to), by))


@overload
def clean(to: AsyncTarget) -> Awaitable[None]: ...


@overload
def clean(to: Target) -> None: ...


def clean(to: Any) -> Any:
    """Deletes all jobs, live and ended, and sets the clock right; queues, schedules and
    subscriptions stay. For tests that commit.

    Args:
        to (Client | AsyncClient): or a connection or session, of the owner of the schema.

    Raises:
        ValueError: the name of the database does not have `test` in it.
    """
    return answer(to, _database.clean(target_of(to)))
