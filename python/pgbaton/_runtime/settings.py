"""How one worker was set up."""

from __future__ import annotations

from dataclasses import dataclass
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
