"""One database for the tests of the worker, emptied before each, and a client for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg
import pytest
from invariants import empty, empty_public

from pgbaton import Client


@pytest.fixture
def dsn(reused_dsn: str) -> str:
    with psycopg.connect(reused_dsn) as conn:
        empty(conn)
        empty_public(conn)
    return reused_dsn


@pytest.fixture
def own_dsn(make_database: Callable[[str], str], template: str) -> str:
    """A database for one test, which may change its functions."""
    return make_database(template)


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        make_queues(client)
        yield client


def make_queues(client: Client) -> None:
    now = timedelta(0)
    client.create_queue("mail", retry_delay=now, retry_backoff=False)
    client.create_fifo_queue("orders", retry_delay=now, retry_backoff=False)
