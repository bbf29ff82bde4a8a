"""The demo: a year of flights through Spark and the queue, in order per aircraft."""

from __future__ import annotations

from pgbaton.demo._java import java_for_spark

__all__ = ["Stuck", "java_for_spark"]


class Stuck(RuntimeError):
    """A worker died or nothing moves any more; the message is one sentence."""
