"""One database for all tests of the command line, emptied before each."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from commands import Command
from invariants import empty
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

from pgbaton import Client


@pytest.fixture(scope="session")
def cli_dsn(server_dsn: str, template: str) -> Iterator[str]:
    name = f"{template}_cli"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}".encode())
        yield make_conninfo(server_dsn, dbname=name)
        admin.execute(f"drop database {name} with (force)".encode())


@pytest.fixture
def dsn(cli_dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database, which PGBATON_DSN names too."""
    with psycopg.connect(cli_dsn) as conn:
        empty(conn)
    monkeypatch.setenv("PGBATON_DSN", cli_dsn)
    return cli_dsn


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        client.create_queue("mail", max_attempts=1)
        client.create_fifo_queue("orders", max_attempts=1)
        yield client


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.delenv("COLUMNS", raising=False)  # which other tests' libraries may set
    return Command(CliRunner())
