"""A span of OpenTelemetry around each run of a handler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from pgbaton._runtime.outcomes import Failed, Outcome
from pgbaton._tracing import is_used
from pgbaton.models import ClaimedJob

if TYPE_CHECKING:
    from opentelemetry.trace import Span

Note = Callable[[Outcome], None]


UNTRACED: AbstractContextManager[Note] = nullcontext(lambda outcome: None)


def consuming(job: ClaimedJob) -> AbstractContextManager[Note]:
    """A consumer span, child of the span that enqueued the job; it is to be told the outcome."""
    return _span_of(job) if is_used() else UNTRACED


@contextmanager
def _span_of(job: ClaimedJob) -> Iterator[Note]:
    from opentelemetry import propagate, trace
    from opentelemetry.context import Context

    with trace.get_tracer("pgbaton").start_as_current_span(
        f"process {job.queue}",
        propagate.extract(job.headers or {}, Context()),
        trace.SpanKind.CONSUMER,
        attributes_of(job),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield lambda outcome: note(span, outcome)


def attributes_of(job: ClaimedJob) -> dict[str, str | int]:
    known: dict[str, str | int] = {
        "messaging.system": "pgbaton",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": job.queue,
        "messaging.message.id": str(job.id),
        "pgbaton.job_type": job.job_type,
        "pgbaton.attempt": job.attempt,
    }
    if job.singleton_key is not None:
        known["pgbaton.singleton_key"] = job.singleton_key
    return known


def note(span: Span, outcome: Outcome) -> None:
    """A failed attempt is an error; a job that is snoozed or stopped is none."""
    if isinstance(outcome, Failed):
        from opentelemetry.trace import StatusCode

        said = {"exception.message": outcome.message, "exception.stacktrace": outcome.report}
        span.add_event("exception", {name: text for name, text in said.items() if text})
        span.set_status(StatusCode.ERROR, outcome.message)
