"""A job while its handler runs."""

from __future__ import annotations

from asyncio import TimerHandle
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pgbaton._arguments import integer, text
from pgbaton._runtime.outcomes import Cancelled, Rules
from pgbaton.models import ClaimedJob

MOST_EVENTS = 2**31 - 1


class RunningJob(ClaimedJob):
    """What a handler is given: the claimed job, and what it may ask and say while it runs."""

    __slots__ = ("_run",)
    if TYPE_CHECKING:  # no column of the row that it is made of
        _run: Run

    @property
    def state(self) -> Any:
        """What the lifespan of the worker yielded; None without one, and in a process."""
        return self._run.state

    @property
    def cancel_requested(self) -> bool:
        """Whether the handler should stop, because somebody cancelled the job, the worker shuts
        down or lost the lease, or the timeout is over. A handler that returns after it has seen
        this true is taken to have stopped."""
        if self._run.cancel_reason is None:
            return False
        self._run.has_seen_cancel = True
        return True

    def raise_if_cancelled(self) -> None:
        """Ends the handler if it should stop.

        Raises:
            Cancelled: `cancel_requested` is true.
        """
        if self.cancel_requested:
            raise Cancelled

    def report_progress(
        self,
        progress: int | None = None,
        current_stage: str | None = None,
        events_count: int | None = None,
    ) -> None:
        """Notes how far the job is; the worker sends the latest to the server every second.

        Args:
            progress (int): percent, 0 to 100; default unchanged.
            current_stage (str): what it is doing; default unchanged.
            events_count (int): events so far; default unchanged.

        Raises:
            ValueError: one of them is out of range, or holds a NUL character.
            TypeError: one of them is of another type.
        """
        # Here, where the handler can be told: later nobody is there to take the error.
        integer(progress)
        text(current_stage)
        integer(events_count)
        if progress is not None and not 0 <= progress <= 100:
            raise ValueError(f"progress is {progress}: pass 0 to 100")
        if events_count is not None and not 0 <= events_count <= MOST_EVENTS:
            raise ValueError(f"events_count is {events_count}: pass 0 to {MOST_EVENTS}")
        said = {
            "progress": progress,
            "current_stage": current_stage,
            "events_count": events_count,
        }
        self._run.note_progress({name: value for name, value in said.items() if value is not None})


CURRENT: ContextVar[RunningJob] = ContextVar("pgbaton_job")


def current_job() -> RunningJob:
    """The job whose handler calls this, however deep in its functions.

    Returns:
        RunningJob: as a handler of `Worker.handler` is given it.

    Raises:
        LookupError: no handler is running here: the function was called by somebody else.
    """
    try:
        return CURRENT.get()
    except LookupError:
        raise LookupError("no job runs here: only handlers of a worker have one") from None


@dataclass(frozen=True, slots=True)
class Handler:
    """A function and how to run it."""

    function: Callable[[RunningJob], Any]
    kind: str
    """`async`, `thread` or `process`."""
    timeout: timedelta | None = None
    memory_limit: int | None = None
    rules: Rules | None = None


@dataclass(eq=False, slots=True)
class Run:
    """One run of a handler."""

    job: RunningJob
    handler: Handler
    state: Any = None
    """What the lifespan of the worker made."""
    cancel_reason: str | None = None
    """`cancelled`, `timeout`, `shutdown` or `lost`; None while it may go on."""
    has_seen_cancel: bool = False
    is_lost: bool = False
    """The job is not ours any more: whatever the handler does, nobody is told."""
    is_running: bool = True
    """The handler has not ended yet."""
    progress: dict[str, Any] = field(default_factory=dict)
    timer: TimerHandle | None = None
    interrupt: Callable[[], object] | None = None
    """Ends the handler from outside; None if nothing can, as in a thread."""

    def __post_init__(self) -> None:
        object.__setattr__(self.job, "_run", self)

    def note_progress(self, said: dict[str, Any]) -> None:
        self.progress = {**self.progress, **said}

    def lose(self) -> None:
        """Notes that the job is not ours any more."""
        self.is_lost = True
        self.cancel("lost")

    def cancel(self, reason: str) -> None:
        """Asks the handler to stop, and makes it where that is possible."""
        if self.cancel_reason is None and self.is_running:
            self.cancel_reason = reason
            interrupt = self.interrupt  # which a thread sets to None when the handler has ended
            if interrupt is not None:
                interrupt()
