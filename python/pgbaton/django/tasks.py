"""The backend for Django's tasks, and a decorator that knows what pgbaton has beyond them."""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from django.conf import settings
from django.core import checks
from django.db import DEFAULT_DB_ALIAS
from django.utils import timezone
from django.utils.module_loading import import_string

from pgbaton._arguments import SingleJob, argument, check_function, several
from pgbaton._runtime.outcomes import Cancelled, Fail, Snooze
from pgbaton.django._connections import client, problem_of, savepoint
from pgbaton.django._framework import (
    BaseTaskBackend,
    Task,
    TaskContext,
    TaskError,
    TaskOf,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    normalize_json,
    task_enqueued,
    task_finished,
    task_started,
)
from pgbaton.errors import UnknownJob
from pgbaton.models import ClaimedJob, JobAttempt, JobInfo, JobState
from pgbaton.tasks import made_of, names_for

__all__ = ["PgbatonBackend", "PgbatonTask", "task"]

P = ParamSpec("P")
R = TypeVar("R")
Key = str | Callable[..., Any]

MIDDLE = 100
"""The priority of pgbaton that Django's 0 stands for."""
STATUS = {
    JobState.ACTIVE: TaskResultStatus.RUNNING,
    JobState.CANCELLING: TaskResultStatus.RUNNING,
    JobState.COMPLETED: TaskResultStatus.SUCCESSFUL,
    JobState.FAILED: TaskResultStatus.FAILED,
    JobState.STOPPED: TaskResultStatus.FAILED,
    JobState.UNSCHEDULED: TaskResultStatus.FAILED,
    JobState.UNKNOWN_STOPPED: TaskResultStatus.FAILED,
}
"""The other states are READY."""


@dataclass(frozen=True, kw_only=True)
class PgbatonTask(TaskOf[P, R]):
    """A task of Django with options of pgbaton; another backend ignores them.

    Args:
        singleton_key (str | Callable): what jobs must run in order of, in a FIFO queue: a text,
            or a function of those arguments that it names. Default none.
        tags (tuple[str, ...]): what workers may ask for; default none.
        dedup_id (str | Callable): an id of your own, so that the call may be repeated, or a
            function of those arguments that it names; default none.
        on_duplicate (str): error, skip for the earlier job, or replace to take its place; default
            error.
        max_attempts (int): runs at most; default the queue's.
    """

    singleton_key: Key | None = None
    tags: tuple[str, ...] = ()
    dedup_id: Key | None = None
    on_duplicate: str | None = None
    max_attempts: int | None = None

    def __post_init__(self) -> None:
        """Refuses what would only be found out when it is enqueued."""
        super().__post_init__()
        parameters = inspect.signature(self.func).parameters
        for field in ("singleton_key", "dedup_id"):
            key = getattr(self, field)
            if key is not None and not isinstance(key, str):
                with argument(field):
                    check_function(key, "a str, or one of the arguments")
                names_for(key, parameters, f"the {field} of {self.name}")

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        singleton_key: Key | None = None,
        tags: Iterable[str] | None = None,
        dedup_id: Key | None = None,
        on_duplicate: str | None = None,
        max_attempts: int | None = None,
    ) -> PgbatonTask[P, R]:
        """The same task with other options; None leaves one as it is."""
        changes = {
            "priority": priority,
            "queue_name": queue_name,
            "run_after": run_after,
            "backend": backend,
            "singleton_key": singleton_key,
            "tags": None if tags is None else tuple(several(tags)),
            "dedup_id": dedup_id,
            "on_duplicate": on_duplicate,
            "max_attempts": max_attempts,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        return replace(self, **given)  # type: ignore[arg-type]


@overload
def task(function: Callable[P, R], /) -> PgbatonTask[P, R]: ...


@overload
def task(
    *,
    priority: int = 0,
    queue_name: str = "default",
    backend: str = "default",
    takes_context: Literal[True],
    singleton_key: Key | None = None,
    tags: Iterable[str] = (),
    dedup_id: Callable[..., Any] | None = None,
    on_duplicate: str | None = None,
    max_attempts: int | None = None,
) -> Callable[[Callable[Concatenate[TaskContext[Any, Any], P], R]], PgbatonTask[P, R]]: ...


@overload
def task(
    *,
    priority: int = 0,
    queue_name: str = "default",
    backend: str = "default",
    takes_context: Literal[False] = False,
    singleton_key: Key | None = None,
    tags: Iterable[str] = (),
    dedup_id: Callable[..., Any] | None = None,
    on_duplicate: str | None = None,
    max_attempts: int | None = None,
) -> Callable[[Callable[P, R]], PgbatonTask[P, R]]: ...


def task(
    function: Callable[..., Any] | None = None,
    /,
    *,
    priority: int = 0,
    queue_name: str = "default",
    backend: str = "default",
    takes_context: bool = False,
    singleton_key: Key | None = None,
    tags: Iterable[str] = (),
    dedup_id: Callable[..., Any] | None = None,
    on_duplicate: str | None = None,
    max_attempts: int | None = None,
) -> Any:
    """Django's own decorator, with what pgbaton has beyond it.

    Args:
        function (Callable): of a module.
        priority (int): -100 to 100, larger first; default 0, which is 100 in pgbaton.
        queue_name (str): where to; default `default`.
        backend (str): alias in the setting TASKS; default `default`.
        takes_context (bool): whether it is given a TaskContext first, as `context`.
        singleton_key (str | Callable): what jobs must run in order of, in a FIFO queue: a text,
            or a function of those arguments that it names, as in `lambda order_id: order_id`.
        tags (Iterable[str]): what workers may ask for; default none.
        dedup_id (Callable): makes an id of those arguments that it names; a second call of the
            same id becomes no job. Default none.
        on_duplicate (str): what such a second call is: error, skip for the earlier job, or replace
            to take its place; default error.
        max_attempts (int): runs at most; default the queue's.

    Returns:
        PgbatonTask: the task.

    Raises:
        InvalidTask: the backend refuses it. In django-tasks its name is InvalidTaskError.
    """

    def declare(function: Callable[..., Any]) -> PgbatonTask[..., Any]:
        return PgbatonTask(
            func=function,
            priority=priority,
            queue_name=queue_name,
            backend=backend,
            takes_context=takes_context,
            run_after=None,
            singleton_key=singleton_key,
            tags=tuple(several(tags)),
            dedup_id=dedup_id,
            on_duplicate=on_duplicate,
            max_attempts=max_attempts,
        )

    return declare if function is None else declare(function)


class PgbatonBackend(BaseTaskBackend):
    """Runs Django's tasks with pgbaton.

    In OPTIONS of the setting TASKS: `database`, the alias of the database with the jobs (default
    `default`), and `queues`, what `create_queue` is given for a queue when `migrate` creates it,
    for example `{"orders": {"policy": "fifo", "max_attempts": 5}}`; `worker`, a function, or its
    dotted name, that is given the `Worker` of `pgbaton_worker` before it runs; and `page`, the
    address of `pgbaton serve`, to which the admin has a link.
    """

    task_class = PgbatonTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.database: str = self.options.get("database", DEFAULT_DB_ALIAS)

    def enqueue(
        self, task: Task[P, R], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> TaskResult[P, R]:
        """Adds a job on Django's connection: in a block of `transaction.atomic` it exists exactly
        when what else happens there does.

        Raises:
            InvalidTask: the backend refuses the task.
            UnknownQueue, KeyRequired, DuplicateJob, TooManyLanes, PayloadTooLarge: as enqueue_job.
            TypeError: an argument is no JSON value.
        """
        self.validate_task(task)
        result = self._result(task, args=args, kwargs=kwargs, enqueued_at=timezone.now())
        job = job_of(task, result.args, result.kwargs)
        id = client(self.database).enqueue_job(task.queue_name, **job)
        object.__setattr__(result, "id", str(id))
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult[..., Any]:
        """What is known of a job, with the error and traceback of each of its attempts.

        Raises:
            TaskResultDoesNotExist: there is no such job, it is older than the retention of its
                queue, or no task of this project.
        """
        job, attempts = self._look_up(result_id)
        if job is None or not is_call(job.payload):
            raise TaskResultDoesNotExist(result_id)
        try:
            task = self._task(job.job_type)
        except (ImportError, Fail) as error:
            raise TaskResultDoesNotExist(f"{result_id}: {error}") from error
        result = self._result(
            replace(task, **self._options_of(job)),
            id=str(job.id),
            status=STATUS.get(job.state, TaskResultStatus.READY),
            enqueued_at=local(job.created_at),
            started_at=local(job.started_at),
            finished_at=local(job.finished_at),
            last_attempted_at=local(job.claimed_at),
            args=job.payload["args"],
            kwargs=job.payload["kwargs"],
            errors=errors_of(attempts),
            worker_ids=[attempt.worker_id or "" for attempt in attempts],
        )
        object.__setattr__(result, "_return_value", job.result)
        return result

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        """For `manage.py check`."""
        found: list[checks.CheckMessage] = [*super().check(**kwargs)]
        if problem := problem_of(self.database):
            found.append(checks.Error(problem, hint="OPTIONS['database'] of TASKS names it."))
        if unknown := self.options.keys() - {"database", "page", "queues", "worker"}:
            found.append(checks.Error(f"OPTIONS of TASKS[{self.alias!r}] has {sorted(unknown)}"))
        if "pgbaton.django" not in settings.INSTALLED_APPS:
            found.append(
                checks.Warning(
                    "pgbaton.django is not in INSTALLED_APPS: migrate does not install pgbaton"
                )
            )
        return found

    def run(self, job: ClaimedJob) -> Any:
        """Runs the task that a job stands for; the handler of a worker.

        Raises:
            Fail: the job is no task's.
            ImportError: there is no such task here, maybe not yet.
        """
        task = self._task(job.job_type)
        if not is_call(job.payload):
            raise Fail(f"the payload of a task has args and kwargs: {job.payload!r:.200}")
        result = self._result(
            task,
            id=str(job.id),
            status=TaskResultStatus.RUNNING,
            enqueued_at=local(job.created_at),
            started_at=timezone.now(),
            last_attempted_at=local(job.claimed_at),
            args=job.payload["args"],
            kwargs=job.payload["kwargs"],
            worker_ids=[""] * job.attempt,
        )
        task_started.send_robust(sender=type(self), task_result=result)
        context = [TaskContext(task_result=result)] if task.takes_context else []
        try:
            returned = normalize_json(task.call(*context, *result.args, **result.kwargs))
        except BaseException as error:
            if is_final(job, error):
                self._finish(result, TaskResultStatus.FAILED)
            raise
        object.__setattr__(result, "_return_value", returned)
        self._finish(result, TaskResultStatus.SUCCESSFUL)
        return returned

    def _finish(self, result: TaskResult[..., Any], status: TaskResultStatus) -> None:
        object.__setattr__(result, "status", status)
        object.__setattr__(result, "finished_at", timezone.now())
        task_finished.send_robust(sender=type(self), task_result=result)

    def _result(self, task: Task[P, R], **known: Any) -> TaskResult[P, R]:
        return TaskResult(
            **{**UNKNOWN, "errors": [], "worker_ids": [], **known}, task=task, backend=self.alias
        )

    def _task(self, path: str) -> Task[..., Any]:
        """Only tasks: a job must not have any function called that can be imported."""
        found = import_string(path)
        if not isinstance(found, Task):
            raise Fail(f"{path} is no task")
        return found

    def _look_up(self, result_id: str) -> tuple[JobInfo | None, list[JobAttempt]]:
        """A job and its attempts, the first one first."""
        if not re.fullmatch("[0-9]{1,18}", str(result_id)):
            return None, []
        ours, id = client(self.database), int(result_id)
        try:
            # A job that does not exist must not break the caller's transaction.
            with savepoint(self.database):
                return ours.get_job(id), ours.job_attempts(id, 1000)[::-1]
        except UnknownJob:
            return None, []

    def _options_of(self, job: JobInfo) -> dict[str, Any]:
        is_valid = not self.queues or job.queue in self.queues
        return {
            "priority": max(-100, min(100, job.priority - MIDDLE)),
            "run_after": local(job.run_at) if job.attempt == 0 else None,
            **({"queue_name": job.queue} if is_valid else {}),
        }


UNKNOWN: Mapping[str, Any] = {
    "id": "",
    "status": TaskResultStatus.READY,
    "started_at": None,
    "finished_at": None,
    "last_attempted_at": None,
}


def job_of(task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> SingleJob:
    """What is enqueued for a call of a task; the arguments are JSON values."""
    job = SingleJob(
        payload={"args": args, "kwargs": kwargs},
        job_type=task.module_path,
        priority=MIDDLE + task.priority,
        run_at=aware(task.run_after),
    )
    if isinstance(task, PgbatonTask):
        job["singleton_key"] = made_by("singleton_key", task, args, kwargs)
        job["tags"] = task.tags
        job["dedup_id"] = made_by("dedup_id", task, args, kwargs)
        job["max_attempts"] = task.max_attempts
        if task.on_duplicate is not None:
            job["on_duplicate"] = task.on_duplicate
    return job


def made_by(
    field: str, task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> str | None:
    """A text as it is, or what a function makes of the arguments that it names."""
    key = getattr(task, field)
    if key is None or isinstance(key, str):
        return key
    context = [None] if task.takes_context else []
    bound = inspect.signature(task.func).bind(*context, *args, **kwargs)
    bound.apply_defaults()
    what = f"the {field} of {task.name}"
    return made_of(key, names_for(key, bound.arguments, what), bound.arguments, what)


def is_call(payload: Any) -> bool:
    return (
        isinstance(payload, dict)
        and isinstance(payload.get("args"), list)
        and isinstance(payload.get("kwargs"), dict)
    )


def is_final(job: ClaimedJob, error: BaseException) -> bool:
    if isinstance(error, Snooze | Cancelled):
        return False
    if isinstance(error, Fail) and error.permanent:
        return True
    return job.max_attempts is not None and job.attempt >= job.max_attempts


def errors_of(attempts: Sequence[JobAttempt]) -> list[TaskError]:
    """Of messages like `ValueError: no funds (shop.py:12 in charge)`."""
    return [
        TaskError(
            exception_class_path=class_path(attempt.error_message),
            traceback=attempt.error_stack or attempt.error_message,
        )
        for attempt in attempts
        if attempt.error_message is not None
    ]


def class_path(message: str) -> str:
    found = re.match(r"[A-Za-z_][\w.]*(?=:|$| \()", message)
    name = found[0] if found else "Exception"
    if "." in name:
        return name
    return f"builtins.{name if hasattr(builtins, name) else 'Exception'}"


def local(instant: datetime | None) -> datetime | None:
    """As Django has instants with this USE_TZ."""
    if instant is None or settings.USE_TZ:
        return instant
    return timezone.make_naive(instant)


def aware(instant: datetime | None) -> datetime | None:
    if instant is None or timezone.is_aware(instant):
        return instant
    return timezone.make_aware(instant)
