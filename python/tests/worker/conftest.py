"""One database for the tests of the worker, emptied before each, and a client for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg
import pytest
from invariants import empty
from psycopg.conninfo import make_conninfo

from pgbaton import Client


@pytest.fixture(scope="session")
def worker_database(server_dsn: str, template: str) -> Iterator[str]:
    name = f"{template}_worker"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}".encode())
        yield make_conninfo(server_dsn, dbname=name)
        admin.execute(f"drop database {name} with (force)".encode())


@pytest.fixture
def dsn(worker_database: str) -> str:
    with psycopg.connect(worker_database) as conn:
        empty(conn)
    return worker_database


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
