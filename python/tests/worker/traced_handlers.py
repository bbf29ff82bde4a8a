"""A handler that runs in a process of its own, where it traces."""

from __future__ import annotations

from opentelemetry import trace

from pgbaton import RunningJob


def trace_of(job: RunningJob) -> list[str]:
    """Trace and span that it runs in."""
    span = trace.get_current_span().get_span_context()
    return [f"{span.trace_id:032x}", f"{span.span_id:016x}"]
