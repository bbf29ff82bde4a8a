"""How one worker was set up, and what it did."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta

from pgbaton._arguments import Interval


@dataclass(frozen=True)
class Settings:
    """What a worker was made with."""

    dsn: str
    worker_id: str
    capacity: int
    batch_size: int
    tags: tuple[str, ...]
    lease: Interval | None
    listen_dsn: str | None
    poll_every: timedelta
    shutdown_timeout: timedelta
    maintenance: bool
    call_timeout: timedelta
    keep_stacks: bool
    create_queues: bool
    burst: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """What a worker did with jobs from its start to its end."""

    completed: int = 0
    failed: int = 0
    """For good."""
    retried: int = 0
    """Attempts that failed and are to be made again."""
    given_back: int = 0
    """Without costing an attempt: snoozed, of an unknown type, or left at the end."""
    stopped: int = 0
    """Because somebody cancelled them."""

    def with_one(self, kind: str) -> Counts:
        """One more of a kind."""
        return replace(self, **{kind: getattr(self, kind) + 1})

    def __add__(self, other: Counts) -> Counts:
        names = [field.name for field in fields(self)]
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in names})
