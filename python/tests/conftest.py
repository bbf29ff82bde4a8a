"""A server for the session, a database with pgbaton for every test, sessions for races.

PGBATON_TEST_DB says which server: `dsn` is the one of PGBATON_DSN, `docker` a testcontainer,
`embedded` a throw-away server of our own; `auto`, the default, takes `dsn` if PGBATON_DSN is set,
else `embedded`.
A server that was asked for and is not there is an error, not a skip.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import profiled
import psycopg
import pytest
from invariants import assert_sound, empty, empty_public
from psycopg import sql
from psycopg.conninfo import make_conninfo
from sessions import Clock, Session

from pgbaton.embedded import temporary_server
from pgbaton.install import install


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each process of tests must find the same names."""
    names = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if names:
        raise pytest.UsageError(f"the address of an object stands in the name of {names[0]}")


@pytest.fixture(scope="session")
def server_dsn() -> Iterator[str]:
    """A superuser's DSN: the database in it is only used to make others."""
    kind = os.environ.get("PGBATON_TEST_DB", "auto")
    if kind == "auto":
        kind = "dsn" if os.environ.get("PGBATON_DSN") else "embedded"
    if kind == "dsn":
        yield os.environ["PGBATON_DSN"]
    elif kind == "docker":
        with docker_dsn() as dsn:
            yield dsn
    elif kind == "embedded":
        with temporary_server(settings=profiled.settings()) as server:
            yield server.dsn(tcp=True)
    else:
        raise ValueError(f"PGBATON_TEST_DB is {kind}: use auto, dsn, docker or embedded")


@contextmanager
def docker_dsn() -> Iterator[str]:
    from testcontainers.community.postgres import PostgresContainer

    with PostgresContainer("postgres:18", driver=None) as container:
        yield container.get_connection_url()


def run_as_admin(server: str, statement: LiteralString, *names: str) -> None:
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def drop_database(server: str, name: str) -> None:
    profiled.save(server, name)
    run_as_admin(server, "drop database {} with (force)", name)


@pytest.fixture(scope="session")
def template(server_dsn: str) -> Iterator[str]:
    """The name of a database with pgbaton installed, to be copied."""
    name = f"pgbaton_template_{uuid.uuid4().hex[:8]}"
    run_as_admin(server_dsn, "create database {}", name)
    install(make_conninfo(server_dsn, dbname=name))
    yield name
    drop_database(server_dsn, name)


@pytest.fixture(scope="session")
def reused_dsn(server_dsn: str, template: str) -> Iterator[str]:
    """One database with pgbaton for many tests, which empty it before they use it."""
    name = f"{template}_reused"
    run_as_admin(server_dsn, "create database {} template {}", name, template)
    yield make_conninfo(server_dsn, dbname=name)
    drop_database(server_dsn, name)


@pytest.fixture
def make_database(server_dsn: str) -> Iterator[Callable[[str], str]]:
    """Makes a database from a template and returns its DSN; all are dropped after the test."""
    made: list[str] = []

    def make(template: str = "template1") -> str:
        name = f"pgbaton_test_{uuid.uuid4().hex[:12]}"
        run_as_admin(server_dsn, "create database {} template {}", name, template)
        made.append(name)
        return make_conninfo(server_dsn, dbname=name)

    yield make
    for name in made:
        drop_database(server_dsn, name)


@pytest.fixture
def empty_dsn(make_database: Callable[..., str]) -> str:
    """A database without pgbaton."""
    return make_database()


@pytest.fixture
def dsn(make_database: Callable[..., str], template: str) -> str:
    """A database with pgbaton."""
    return make_database(template)


@pytest.fixture
def conn(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the database of `dsn`, in autocommit mode."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def races_dsn(server_dsn: str, template: str) -> Iterator[str]:
    """One database for all races: making one takes longer than most of them."""
    name = f"{template}_races"
    run_as_admin(server_dsn, "create database {} template {}", name, template)
    yield make_conninfo(server_dsn, dbname=name)
    drop_database(server_dsn, name)


@pytest.fixture
def open_session(races_dsn: str) -> Iterator[Callable[[], Session]]:
    """Opens sessions to a database in which nothing was enqueued yet."""
    opened: list[Session] = []
    with psycopg.connect(races_dsn, autocommit=True) as observer:
        empty(observer)
        empty_public(observer)

        def open_one() -> Session:
            opened.append(Session(races_dsn, observer))
            return opened[-1]

        yield open_one
        for session in opened:
            observer.execute("select pg_terminate_backend(%s)", [session.pid])
            session.close()


@pytest.fixture
def db(open_session: Callable[[], Session]) -> Session:
    """The session that arranges and looks."""
    return open_session()


@pytest.fixture
def sound(db: Session) -> Callable[[], None]:
    """Checks the invariants; call it when all transactions have ended."""
    return lambda: assert_sound(db.conn)


@pytest.fixture
def clock(db: Session) -> Iterator[Clock]:
    """Stops the clock of pgbaton; the test moves it."""
    with Clock(db.conn) as stopped:
        yield stopped
