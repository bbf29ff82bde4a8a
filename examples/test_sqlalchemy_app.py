"""Tests of sqlalchemy_app.py: `pip install 'pgbaton[embedded]' pytest`, then `pytest`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from pgbaton import Client
from pgbaton.testing import advance_clock, assert_enqueued, run_jobs


@pytest.fixture(scope="session")
def app(pgbaton_database: str) -> Any:
    """The application, in a database that the plugin of pgbaton made."""
    os.environ["DATABASE_URL"] = url_of(pgbaton_database)
    import sqlalchemy_app

    sqlalchemy_app.setup()
    yield sqlalchemy_app
    sqlalchemy_app.engine.dispose()


@pytest.fixture
def session(app: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session whose commits are savepoints: all is rolled back after the test."""
    with app.engine.connect() as connection:
        transaction = connection.begin()
        bound = {"bind": connection, "join_transaction_mode": "create_savepoint"}
        monkeypatch.setattr(app.sessions, "kw", {**app.sessions.kw, **bound})
        with Session(**bound) as session:
            yield session
        transaction.rollback()


def test_an_order_is_confirmed(app: Any, session: Session) -> None:
    order = app.place_order(session, "ada@example.com")
    session.commit()
    assert_enqueued(session, app.confirm, {"order_id": order.id}, count=1)
    run_jobs(session, app.confirm)
    session.refresh(order)
    assert order.is_confirmed


def test_without_an_order_there_is_no_mail(app: Any, session: Session) -> None:
    app.place_order(session, "ada@example.com")
    session.rollback()
    assert_enqueued(session, app.confirm, count=0)


def test_a_mail_that_fails_is_tried_again(app: Any, session: Session) -> None:
    app.confirm.enqueue(session, order_id=17)  # which does not exist
    ran = run_jobs(session, app.confirm, raise_errors=False)
    assert len(ran.retried) == 1
    advance_clock(session, timedelta(hours=1))
    ran = run_jobs(session, app.confirm, raise_errors=False, advance=True)
    assert len(ran.failed) == 1
    assert_enqueued(session, app.confirm, {"order_id": 17}, state="failed", attempt=5)


def test_with_a_real_worker(app: Any, pgbaton_dsn: str) -> None:
    """This one commits: pgbaton_dsn deletes the jobs, and the orders are ours to delete."""
    with app.sessions.begin() as session:
        app.place_order(session, "ada@example.com")
    with Client(pgbaton_dsn) as client:
        run_jobs(client, app.confirm)
    with app.sessions.begin() as session:
        [order] = session.query(app.Order).all()
        assert order.is_confirmed
        session.delete(order)


def url_of(dsn: str) -> str:
    from psycopg.conninfo import conninfo_to_dict

    part: Callable[[str], Any] = conninfo_to_dict(dsn).get
    return (
        f"postgresql://{part('user')}:{part('password')}@{part('host')}:{part('port')}"
        f"/{part('dbname')}"
    )
