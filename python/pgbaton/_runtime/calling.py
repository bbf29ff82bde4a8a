"""Calls of handlers, with the hooks around them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack

from pgbaton._runtime.hooks import Around, enter, enter_async
from pgbaton._runtime.outcomes import (
    Completed,
    Failed,
    Outcome,
    Stopped,
    of_error,
    of_result,
)
from pgbaton._runtime.running import CURRENT, Run
from pgbaton._runtime.tracing import consuming


def run_sync(run: Run, around: Sequence[Around], loop: asyncio.AbstractEventLoop) -> Outcome:
    """In a context of its own: what it sets is not seen by the next job of its thread."""
    return contextvars.copy_context().run(called, run, around, loop)


def called(run: Run, around: Sequence[Around], loop: asyncio.AbstractEventLoop) -> Outcome:
    CURRENT.set(run.job)
    result = None  # of a handler whose exception a hook takes for its own
    try:
        with ExitStack() as stack:
            enter(stack, around, run.job, loop)
            result = run.handler.function(run.job)
        return of_result(result)
    except BaseException as error:  # sys.exit in a handler ends the handler only
        return of_error(error, run.handler.rules)


class ProcessError(Exception):
    """Stands for what a handler raised in its process, if that cannot leave it."""


def run_within(
    run: Run,
    around: Sequence[Around],
    loop: asyncio.AbstractEventLoop,
    run_it: Callable[[], Outcome],
) -> Outcome:
    """With the hooks around it, which see what the process raised."""
    return contextvars.copy_context().run(called_within, run, around, loop, run_it)


def called_within(
    run: Run,
    around: Sequence[Around],
    loop: asyncio.AbstractEventLoop,
    run_it: Callable[[], Outcome],
) -> Outcome:
    CURRENT.set(run.job)
    outcome: Outcome = Completed()
    raised: BaseException | None = None
    try:
        with ExitStack() as stack:
            enter(stack, around, run.job, loop)
            outcome = run_it()
            if isinstance(outcome, Failed):
                raised = outcome.error or ProcessError(outcome.message)
                raise raised
        return outcome if raised is None else Completed()
    except BaseException as error:
        return outcome if error is raised else of_error(error, run.handler.rules)


async def run_async(run: Run, around: Sequence[Around]) -> Outcome:
    """Raises what a tracer does, and when it is interrupted before it began."""
    with consuming(run.job) as note:
        outcome = await awaited(run, around)
        note(outcome)
        return outcome


async def awaited(run: Run, around: Sequence[Around]) -> Outcome:
    CURRENT.set(run.job)
    result = None
    try:
        async with AsyncExitStack() as stack:
            await enter_async(stack, around, run.job)
            result = await run.handler.function(run.job)
        return of_result(result)
    except asyncio.CancelledError as error:
        return of_error(error) if run.cancel_reason is None else Stopped()
    except BaseException as error:  # SystemExit would end the loop
        return of_error(error, run.handler.rules)
