"""Functions of the application around and beside handlers."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, TypeAlias

from pgbaton._runtime.running import RunningJob

log = logging.getLogger("pgbaton.worker")

Surrounding: TypeAlias = AbstractContextManager[Any] | AbstractAsyncContextManager[Any]
Around: TypeAlias = Callable[[RunningJob], Surrounding]
Lifespan: TypeAlias = Callable[[], Surrounding]


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that failed, as the hooks `on_error` and `on_failed_for_good` are told."""

    job: RunningJob
    """`job.attempt` of `job.max_attempts`."""
    error: BaseException | None
    """What the handler raised; None if it raised nothing, as when its process was killed, or if
    the exception cannot leave its process."""
    message: str
    """What is kept as the job's error."""
    is_final: bool
    """Whether the job failed for good; else it runs again."""


Observer: TypeAlias = Callable[[Failure], Any]


@dataclass(eq=False)
class Hooks:
    """What a worker was told to call."""

    around: list[Around] = field(default_factory=list)
    on_error: list[Observer] = field(default_factory=list)
    on_failed_for_good: list[Observer] = field(default_factory=list)
    lifespan: Lifespan | None = None
    at_thread_end: list[Callable[[], object]] = field(default_factory=list)

    def observers_of(self, failure: Failure) -> list[Observer]:
        return [*self.on_error, *(self.on_failed_for_good if failure.is_final else ())]


def is_asynchronous(function: Any) -> bool:
    """Whether a call of it has to be awaited; also that of an object."""
    function = unbound(function)
    call = None if isinstance(function, type) else function.__call__
    return any(map(inspect.iscoroutinefunction, (function, call)))


def unbound(function: Any) -> Any:
    """What a `functools.partial` calls."""
    while isinstance(function, partial):
        function = function.func
    return function


def as_context_manager(function: Callable[..., Any]) -> Callable[..., Surrounding]:
    """A generator function needs no decorator of contextlib."""
    if inspect.isasyncgenfunction(function):
        return asynccontextmanager(function)
    if inspect.isgeneratorfunction(function):
        return contextmanager(function)
    return function


def enter(
    stack: ExitStack, hooks: Sequence[Around], job: RunningJob, loop: asyncio.AbstractEventLoop
) -> None:
    """In the thread of a handler; asynchronous hooks run in the event loop meanwhile."""
    for hook in hooks:
        surrounding = hook(job)
        if isinstance(surrounding, AbstractAsyncContextManager):
            surrounding = Elsewhere(surrounding, loop)
        stack.enter_context(surrounding)


async def enter_async(stack: AsyncExitStack, hooks: Sequence[Around], job: RunningJob) -> None:
    for hook in hooks:
        surrounding = hook(job)
        if isinstance(surrounding, AbstractAsyncContextManager):
            await stack.enter_async_context(surrounding)
        else:
            stack.enter_context(surrounding)


class Elsewhere:
    """An asynchronous context manager for a thread: it is entered and left in the event loop."""

    def __init__(
        self, surrounding: AbstractAsyncContextManager[Any], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._surrounding = surrounding
        self._loop = loop

    def __enter__(self) -> Any:
        return self._wait_for(self._enter())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        is_taken: bool | None = self._wait_for(self._exit(kind, error, trace))
        return is_taken

    async def _enter(self) -> Any:
        return await self._surrounding.__aenter__()

    async def _exit(self, *error: Any) -> bool | None:
        return await self._surrounding.__aexit__(*error)

    def _wait_for(self, work: Coroutine[Any, Any, Any]) -> Any:
        result, error = asyncio.run_coroutine_threadsafe(_caught(work), self._loop).result()
        if error is not None:
            raise error
        return result


async def _caught(work: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """Its result, or what would end the loop if it were raised there, as sys.exit does."""
    try:
        return await work, None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


class Life:
    """What lives as long as a worker runs: entered and left in one task, as some things must.

    The engines of a worker share it: it begins with the first and ends with the last.
    """

    def __init__(self, make: Lifespan) -> None:
        self._make = make
        self._users = 0
        self._is_over = asyncio.Event()
        self._state: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> Any:
        """Returns what handlers are given."""
        self._users += 1
        if self._task is None:
            self._task = asyncio.create_task(self._live())
        await asyncio.wait([self._task, self._state], return_when=asyncio.FIRST_COMPLETED)
        if not self._state.done():
            self._task.result()
        return self._state.result()

    async def end(self, seconds: float) -> None:
        """Leaves it, if nobody else uses it; what takes longer is interrupted."""
        self._users -= 1
        if self._users > 0 or self._task is None:
            return
        self._is_over.set()
        if not self._state.done():  # it has not begun yet
            self._task.cancel()
        if not self._task.done():
            _, late = await asyncio.wait([self._task], timeout=seconds)
            if late:
                log.warning(
                    "the end of the lifespan takes longer than %.0f s: interrupted", seconds
                )
                self._task.cancel()
                await asyncio.wait(late, timeout=seconds)
        if self._task.done() and not self._task.cancelled() and self._state.done():
            self._task.result()

    async def _live(self) -> None:
        async with _entered(self._make()) as made:
            self._state.set_result(made)
            await self._is_over.wait()


@asynccontextmanager
async def _entered(surrounding: Surrounding) -> AsyncIterator[Any]:
    if isinstance(surrounding, AbstractAsyncContextManager):
        async with surrounding as made:
            yield made
    else:
        with surrounding as made:
            yield made
