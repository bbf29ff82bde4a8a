"""The trace context of OpenTelemetry, as headers of a job.

A program that traces has imported opentelemetry, or its launcher did. So it is never imported first
from here: without it, and without the extra `otel`, nothing happens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from pgbaton._arguments import NewJob

Headers: TypeAlias = Mapping[str, str]
MOST_BYTES = 4096
"""What the server takes; an enqueue must not fail because it is traced."""


def is_used() -> bool:
    """Whether this program may have a span."""
    return "opentelemetry.trace" in sys.modules


def outgoing(headers: Headers | None) -> Headers | None:
    """The headers of a new job, with the context of the current span.

    Those that are given win. Of a context that is too large only traceparent is taken.
    """
    context = _current()
    if not context or (headers and not context.keys().isdisjoint(headers)):
        return headers
    for part in (context, {k: v for k, v in context.items() if k == "traceparent"}):
        together = {**part, **(headers or {})}
        if len(json.dumps(together, ensure_ascii=False).encode(errors="replace")) <= MOST_BYTES:
            return together
    return headers


def outgoing_jobs(jobs: Iterable[NewJob]) -> Iterable[NewJob]:
    """The same for jobs of enqueue_jobs."""
    if not _current() or isinstance(jobs, str | bytes | Mapping):
        return jobs
    return [{**job, "headers": outgoing(job.get("headers"))} for job in jobs]


@contextmanager
def within(headers: Headers | None) -> Iterator[None]:
    """Makes the span that headers tell of the current one."""
    if not headers or not is_used():
        yield
        return
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(headers, context.Context()))
    try:
        yield
    finally:
        context.detach(token)


def _current() -> dict[str, str]:
    if not is_used():
        return {}
    from opentelemetry import propagate, trace

    context: dict[str, str] = {}
    if trace.get_current_span().get_span_context().is_valid:
        propagate.inject(context)
    return context
