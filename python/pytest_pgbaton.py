"""Fixtures of pytest for tests of applications: a server, a database, a client.

pytest loads this module in every run of an environment that has pgbaton; so pgbaton itself is only
imported by a fixture that is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import psycopg

    from pgbaton import Client


def pytest_addoption(parser: pytest.Parser) -> None:
    """The server of the tests."""
    text = (
        "server for the fixtures of pgbaton, as a role that may create databases;"
        " default PGBATON_TEST_DSN, else an embedded server"
    )
    parser.getgroup("pgbaton").addoption("--pgbaton-dsn", metavar="DSN", help=text)


@pytest.fixture(scope="session")
def pgbaton_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """DSN of a server: that of --pgbaton-dsn or PGBATON_TEST_DSN, else one of its own, which is
    gone afterwards (pip install 'pgbaton[embedded]')."""
    given = request.config.getoption("--pgbaton-dsn") or os.environ.get("PGBATON_TEST_DSN")
    if given:
        yield str(given)
        return
    from pgbaton.embedded import temporary_server

    with temporary_server() as server:
        yield server.dsn(tcp=True)


@pytest.fixture(scope="session")
def pgbaton_setup() -> Callable[[Client], Any] | None:
    """What is done once in the database of the tests; override it, for example to create queues
    and tables: `return lambda client: client.create_queue("mail")`."""
    return None


@pytest.fixture(scope="session")
def pgbaton_database(
    pgbaton_server: str, pgbaton_setup: Callable[[Client], Any] | None
) -> Iterator[str]:
    """DSN of a database with pgbaton, made once for the session and dropped after it."""
    import uuid

    import psycopg
    from psycopg.conninfo import make_conninfo
    from psycopg.sql import SQL, Identifier

    from pgbaton import Client
    from pgbaton.install import install

    name = f"pgbaton_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(pgbaton_server, autocommit=True) as admin:
        admin.execute(SQL("create database {}").format(Identifier(name)))
        try:
            dsn = make_conninfo(pgbaton_server, dbname=name)
            install(dsn)
            if pgbaton_setup is not None:
                with Client(dsn) as client:
                    pgbaton_setup(client)
            yield dsn
        finally:
            admin.execute(SQL("drop database {} with (force)").format(Identifier(name)))


@pytest.fixture
def pgbaton_dsn(pgbaton_database: str) -> Iterator[str]:
    """DSN of that database for a test that commits; without jobs, also after the test."""
    import psycopg

    from pgbaton.testing import clean

    with psycopg.connect(pgbaton_database, autocommit=True) as connection:
        clean(connection)
        yield pgbaton_database
        clean(connection)


@pytest.fixture
def pgbaton_connection(pgbaton_database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to that database; what the test does with it is rolled back."""
    import psycopg

    with psycopg.connect(pgbaton_database) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def pgbaton_client(pgbaton_connection: psycopg.Connection[Any]) -> Client:
    """A client on pgbaton_connection."""
    from pgbaton import Client

    return Client(connection=pgbaton_connection)
