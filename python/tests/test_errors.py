"""One class for each SQLSTATE, raised by psycopg itself."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator

import psycopg
import pytest

from pgbaton import _assemble, errors

BY_SQLSTATE = errors._BY_SQLSTATE


@pytest.fixture(scope="module")
def conn(server_dsn: str) -> Iterator[psycopg.Connection[object]]:
    """Any database will do."""
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        yield connection


def test_every_documented_sqlstate_has_its_class() -> None:
    page = (_assemble.source_root() / "docs" / "errors.md").read_text()
    documented = set(re.findall(r"\bPB\d{3}\b", page))
    assert set(BY_SQLSTATE) == documented == {f"PB{n:03}" for n in range(1, 14)}


def test_every_class_is_a_pgbaton_error_of_the_database() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.PgbatonError)
        assert issubclass(kind, psycopg.DatabaseError)
        assert name in (errors.__doc__ or "")


@pytest.mark.parametrize("sqlstate", BY_SQLSTATE)
def test_psycopg_raises_our_class(conn: psycopg.Connection[object], sqlstate: str) -> None:
    """Registering by `code` is not in psycopg's manual: this holds it fast."""
    with pytest.raises(BY_SQLSTATE[sqlstate]) as caught:
        raise_in_database(conn, sqlstate)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.hint == "do this"
    assert caught.value.diag.message_primary == "no good"
    assert pickle.loads(pickle.dumps(caught.value)).hint == "do this"  # noqa: S301


def test_a_class_that_somebody_else_registered_is_replaced(
    conn: psycopg.Connection[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Foreign(psycopg.OperationalError):
        pass

    monkeypatch.setitem(psycopg.errors._sqlcodes, "PB001", Foreign)
    with pytest.raises(Foreign) as caught:
        raise_in_database(conn, "PB001")
    ours = errors.typed(caught.value)
    assert isinstance(ours, errors.UnknownQueue)
    assert (ours.hint, str(ours)) == ("do this", str(caught.value))


def test_other_errors_stay_as_they_are(conn: psycopg.Connection[object]) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero) as caught:
        conn.execute("select 1 / 0")
    assert errors.typed(caught.value) is caught.value
    lost = psycopg.OperationalError("the connection is lost")
    assert errors.typed(lost) is lost


def test_an_error_of_the_client_has_no_hint() -> None:
    assert errors.IncompatibleServer("no").hint is None


def raise_in_database(conn: psycopg.Connection[object], sqlstate: str) -> None:
    body = (
        "do $$ begin raise exception using message = 'no good', hint = 'do this',"
        f" errcode = '{sqlstate}'; end $$"
    )
    conn.execute(body.encode())
