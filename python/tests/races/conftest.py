"""Fixtures of the race tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from invariants import assert_sound, empty
from psycopg import sql
from psycopg.conninfo import make_conninfo
from sessions import Clock, Session


@pytest.fixture(scope="session")
def races_dsn(server_dsn: str, template: str) -> Iterator[str]:
    """One database for all races: making one takes longer than most of them."""
    name = sql.Identifier(template + "_races")
    with psycopg.connect(server_dsn, autocommit=True) as conn:
        conn.execute(
            sql.SQL("create database {} template {}").format(name, sql.Identifier(template))
        )
        yield make_conninfo(server_dsn, dbname=template + "_races")
        conn.execute(sql.SQL("drop database {} with (force)").format(name))


@pytest.fixture
def open_session(races_dsn: str) -> Iterator[Callable[[], Session]]:
    """Opens sessions to a database in which nothing was enqueued yet."""
    opened: list[Session] = []
    with psycopg.connect(races_dsn, autocommit=True) as observer:
        empty(observer)

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
