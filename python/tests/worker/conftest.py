"""A database and a client for each test of the worker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from pgbaton import Client


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        now = timedelta(0)
        client.create_queue("mail", retry_delay=now, retry_backoff=False)
        client.create_fifo_queue("orders", retry_delay=now, retry_backoff=False)
        yield client
