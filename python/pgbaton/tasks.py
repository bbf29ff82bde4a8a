"""Tasks: functions that can be enqueued with their own arguments."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import timedelta
from functools import cached_property, update_wrapper
from operator import attrgetter
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, get_type_hints, overload
from uuid import UUID

from pgbaton._arguments import (
    JobOptions,
    Json,
    NewJob,
    argument,
    check_boolean,
    check_duration,
    check_function,
    check_options,
    integer,
    not_what_is_wanted,
    several,
    text,
    word,
)
from pgbaton._codec import DEFAULT_CODEC, Codec, stored
from pgbaton._producers import AsyncTarget, Target, producer_of
from pgbaton._runtime.hooks import is_asynchronous, unbound
from pgbaton._runtime.outcomes import Rules, check_rules
from pgbaton.models import ClaimedJob

__all__ = ["BadArguments", "Codec", "JobOptions", "Task", "task"]

P = ParamSpec("P")
R = TypeVar("R")
KEYS = (str, int, UUID)


class BadArguments(ValueError):
    """Arguments that a task does not take: refused when it is enqueued, else the job fails."""


class Task(Generic[P, R]):
    """A function whose calls can be enqueued: what `task` makes.

    Called, it is the function. Its arguments travel by name, so a job that was enqueued before a
    deploy fits the function after it as long as new arguments have defaults.

    Attributes:
        queue (str): where its jobs go.
        name (str): the job type of its jobs.
        aliases (tuple[str, ...]): job types of earlier names, which a worker takes too.
        function (Callable): the function.
        options (JobOptions): what its jobs are enqueued with.
    """

    def __init__(
        self,
        function: Callable[P, R],
        queue: str,
        name: str,
        aliases: tuple[str, ...],
        key: Callable[..., Any] | None,
        codec: Codec,
        options: JobOptions,
        process: bool,
        timeout: timedelta | None,
        memory_limit: int | None,
        rules: Rules | None,
    ) -> None:
        if isinstance(function, Task):
            raise TypeError(f"{function!r} is a task already: for another queue, call it from one")
        self.queue = queue
        self.name = name
        self.aliases = aliases
        self.function = function
        self.options = options
        self.is_async = is_asynchronous(function)
        self.process = process
        self.timeout = timeout
        self.memory_limit = memory_limit
        self.rules = rules
        self._codec = codec
        self._signature = inspect.signature(function)
        for parameter in self._signature.parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(f"{parameter} of {name} has no name that an argument could go by")
        self._key = key
        self._key_parts = names_for(key, self._signature.parameters, f"the key of {name}")
        update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return f"<task {self.name} of queue {self.queue}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self.function.__module__, self.function.__qualname__)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function here and now, as if it were no task."""
        return self.function(*args, **kwargs)

    @overload
    def enqueue(
        self, to: AsyncTarget, /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, int]: ...

    @overload
    def enqueue(self, to: Target, /, *args: P.args, **kwargs: P.kwargs) -> int: ...

    def enqueue(
        self, to: Target | AsyncTarget, /, *args: P.args, **kwargs: P.kwargs
    ) -> int | Coroutine[Any, Any, int]:
        """Adds a job that calls the function with these arguments.

        Args:
            to (Client | AsyncClient | psycopg.Connection | psycopg.AsyncConnection): with your
                connection or session, the job is part of its transaction; with a client, it is
                like every other call of that client. Await the answer of an asynchronous one.
            *args: of the function.
            **kwargs: of the function.

        Returns:
            int: the job's id.

        Raises:
            BadArguments: an argument is no value of its annotated type, or JSON cannot say it.
            TypeError: an argument is missing or unknown, or `to` is something else.
            UnknownQueue, KeyRequired, DuplicateJob, TooManyLanes, PayloadTooLarge: as enqueue_job.
        """
        producer = producer_of(to)  # first: who forgets it passes an argument in its place
        job = self.job(*args, **kwargs)
        answer: int | Coroutine[Any, Any, int] = producer.enqueue_job(self.queue, **job)
        return answer

    def using(self, **options: Unpack[JobOptions]) -> Task[P, R]:
        """The same task with other options, for example `send.using(delay=HOUR).enqueue(...)`.

        Args:
            **options (JobOptions): as enqueue_job has them; they come before those of the task.

        Returns:
            Task: another one; this one stays as it is.
        """
        check_options(options)
        other = copy_of(self)
        other.options = JobOptions(**{**self.options, **options})
        return other

    def job(self, /, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """What `enqueue` would add, for `client.enqueue_jobs(task.queue, [task.job(...), ...])`.

        Args:
            *args: of the function.
            **kwargs: of the function.

        Returns:
            NewJob: job type, payload and options.

        Raises:
            BadArguments, TypeError: as enqueue.
        """
        given = self._signature.bind(*args, **kwargs).arguments
        job = NewJob(payload=self._encoded(given), job_type=self.name)
        if (key := self._key_of(given)) is not None:
            job["singleton_key"] = key
        job.update(self.options)  # type: ignore[typeddict-item]
        return job

    def run(self, job: ClaimedJob) -> Any:
        """What a worker does with a job: calls the function with the arguments of the payload.

        Args:
            job (ClaimedJob): the job.

        Returns:
            Any: the result as JSON; a coroutine for it if the function is one.

        Raises:
            BadArguments: the payload does not fit the function.
        """
        return self.run_async(job) if self.is_async else self.run_sync(job)

    def run_sync(self, job: ClaimedJob) -> Json:
        """`run` of a plain function."""
        return self._result(self.function(**self.arguments(job.payload)))  # type: ignore[call-arg]

    async def run_async(self, job: ClaimedJob) -> Json:
        """`run` of an `async def`."""
        function: Any = self.function
        return self._result(await function(**self.arguments(job.payload)))

    def arguments(self, payload: Json) -> dict[str, Any]:
        """The arguments that a payload stands for.

        Args:
            payload (Json): of a job.

        Returns:
            dict[str, Any]: by name; those that are left out have defaults.

        Raises:
            BadArguments: it is no object, lacks one, has one that the function does not take, or
                one is no value of its annotated type.
        """
        if not isinstance(payload, dict):
            raise BadArguments(f"{self.name} takes an object of arguments, not {payload!r:.200}")
        parameters = self._signature.parameters
        if unknown := [name for name in payload if name not in parameters]:
            raise BadArguments(
                f"{self.name} takes no argument {', '.join(map(repr, unknown))}:"
                f" it knows {', '.join(parameters) or 'none'}; it may be of a newer version"
            )
        needed = [name for name, p in parameters.items() if p.default is p.empty]
        if missing := [name for name in needed if name not in payload]:
            raise BadArguments(f"{self.name} lacks the argument {', '.join(map(repr, missing))}")
        return {name: self._decoded(name, value) for name, value in payload.items()}

    def check(self) -> None:
        """Refuses what would only fail with the first job; a worker does it when it is told.

        Raises:
            TypeError: an annotation cannot be resolved or decoded, or a process cannot import it.
        """
        for name, hint in self._hints.items():
            try:
                self._codec.check(hint)
            except TypeError as error:
                raise TypeError(f"argument {name!r} of {self.name}: {error}") from error

    @cached_property
    def _hints(self) -> dict[str, Any]:
        """Resolved late, since a type may be defined after the task."""
        try:
            hints = get_type_hints(annotated(self.function), include_extras=True)
        except NameError as error:
            raise TypeError(
                f"an annotation of {self.name} cannot be resolved: {error}. Import it at run time,"
                " not for type checkers only"
            ) from error
        return {name: hints.get(name, Any) for name in self._signature.parameters}

    def _encoded(self, given: Mapping[str, Any]) -> dict[str, Json]:
        return {name: self._encoded_one(name, value) for name, value in given.items()}

    def _encoded_one(self, name: str, value: Any) -> Json:
        try:
            return stored(self._codec, value, self._hints[name])
        except Exception as error:
            raise BadArguments(f"argument {name!r} of {self.name}: {error}") from error

    def _decoded(self, name: str, value: Json) -> Any:
        try:
            return self._codec.decode(value, self._hints[name])
        except Exception as error:
            raise BadArguments(f"argument {name!r} of {self.name}: {error}") from error

    def _result(self, result: Any) -> Json:
        return result if result is None else self._codec.encode(result)

    def _key_of(self, given: Mapping[str, Any]) -> str | None:
        if self._key is None:
            return None
        defaults = {name: p.default for name, p in self._signature.parameters.items()}
        known = {**defaults, **given}
        return made_of(self._key, self._key_parts, known, f"the key of {self.name}")


def task(
    queue: str,
    name: str | None = None,
    *,
    key: Callable[..., str | int | UUID | None] | None = None,
    aliases: Iterable[str] = (),
    rules: Rules | None = None,
    process: bool = False,
    timeout: timedelta | None = None,
    memory_limit: int | None = None,
    codec: Codec | None = None,
    **options: Unpack[JobOptions],
) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Decorates a function so that its calls can be enqueued, and a worker can run them.

    This starts nothing and asks no database: `enqueue` is given a connection, and a worker is
    told with `Worker.add`.

    Args:
        queue (str): where its jobs go.
        name (str): the job type of its jobs; default the function's name, without its module.
            It is stored with the jobs: give it when you rename the function.
        key (Callable): makes the singleton_key of a job of those arguments that it names, for
            example `lambda order_id: f"order {order_id}"`; default none.
        aliases (Iterable[str]): earlier names; a worker takes their jobs too. Default none.
        rules (Mapping): what exceptions of the function mean, by type; as for Worker.handler.
        process (bool): run it in another process; as for Worker.handler. Default false.
        timeout (timedelta): how long it may run; default for ever.
        memory_limit (int): bytes of address space of its process; default unlimited.
        codec (Codec): how its arguments become JSON; default one that knows the usual types.
        **options (JobOptions): of its jobs, as enqueue_job has them.

    Returns:
        Callable: the decorator, which makes a Task.

    Raises:
        TypeError: the function takes arguments without a name, or the key others than it does,
            or it is a task already; an option is unknown, or anything is of a wrong type.
    """
    word(queue)
    text(name)
    earlier = tuple(map(word, several(aliases)))
    integer(memory_limit)
    check_duration(timeout)
    check_options(options)
    check_rules(rules)
    with argument("process"):
        check_boolean(process)
    with argument("codec"):
        if not isinstance(codec, Codec | None):
            raise not_what_is_wanted(codec, "a Codec", "one of a subclass")
    with argument("key"):
        if key is not None:
            check_function(key, "one that makes it of arguments, as lambda order_id: order_id")

    def declare(function: Callable[P, R]) -> Task[P, R]:
        check_function(function, "one with a name" if name is None else "one")
        if name is None and not hasattr(function, "__name__"):
            raise not_what_is_wanted(function, "a function with a name", "task(queue, name)")
        return Task(
            function,
            queue,
            name or function.__name__,
            earlier,
            key,
            codec or DEFAULT_CODEC,
            options,
            process,
            timeout,
            memory_limit,
            rules,
        )

    return declare


def annotated(function: Any) -> Any:
    """What has the annotations of something that can be called."""
    function = unbound(function)
    is_function = inspect.isroutine(function) or hasattr(function, "__wrapped__")
    if is_function or isinstance(function, type):
        return function
    return type(function).__call__


def names_for(
    key: Callable[..., Any] | None, parameters: Iterable[str], what: str
) -> list[str] | None:
    """The arguments that a key is made of; None is all of them.

    Raises:
        TypeError: it names others.
    """
    if key is None:
        return []
    parts = inspect.signature(key).parameters
    known = list(parameters)
    named = [name for name, part in parts.items() if part.kind is not part.VAR_KEYWORD]
    if unknown := [name for name in named if name not in known]:
        raise TypeError(f"{what} is made of {unknown}, which it does not take")
    return named if len(named) == len(parts) else None


def made_of(
    key: Callable[..., Any], names: Iterable[str] | None, given: Mapping[str, Any], what: str
) -> str | None:
    """The key as a text.

    Raises:
        BadArguments: it is something that has no text of its own.
    """
    made = key(**{name: given[name] for name in (given if names is None else names)})
    if made is not None and (not isinstance(made, KEYS) or isinstance(made, bool)):
        raise BadArguments(f"{what} is {made!r}: make it a text")
    return None if made is None else str(made)


def copy_of(original: Task[P, R]) -> Task[P, R]:
    """`copy.copy` would find the one that its module has."""
    other: Task[P, R] = Task.__new__(Task)
    other.__dict__.update(original.__dict__)
    return other


def find(module: str, name: str) -> Any:
    """The task of a module, in the process of a handler."""
    return attrgetter(name)(sys.modules.get(module) or __import__(module, fromlist=["_"]))


def can_be_found(task: Task[..., Any]) -> bool:
    """Whether another process finds it by the name of its function."""
    try:
        found = find(task.function.__module__, task.function.__qualname__)
    except (AttributeError, ImportError):
        return False
    return isinstance(found, Task) and found.function is task.function
