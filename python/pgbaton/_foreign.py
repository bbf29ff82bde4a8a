"""Calls over connections that are not psycopg's: those of asyncpg and SQLAlchemy.

Each argument goes as a text that the server casts, each row comes back as one JSON text. So it
does not matter which types the driver knows, and which codecs its connection was given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, get_args, get_origin, get_type_hints

import psycopg
from psycopg.pq import DiagnosticField

from pgbaton._arguments import Argument, JsonList, array
from pgbaton._calls import Required, Rows
from pgbaton.errors import class_of, typed
from pgbaton.models import UnreadableJson

if TYPE_CHECKING:
    from sqlalchemy import Connection, TextClause
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
    from sqlalchemy.orm import Session, scoped_session

    class Asyncpg(Protocol):
        """A connection of asyncpg, which has no types of its own."""

        async def fetch(self, query: str, *args: Any) -> Any: ...

    Foreign: TypeAlias = Connection | Session | scoped_session[Any]
    AsyncForeign: TypeAlias = Asyncpg | AsyncConnection | AsyncSession | async_scoped_session[Any]

SQLALCHEMY = {
    "Client": ("Connection", "Session", "scoped_session"),
    "AsyncClient": ("AsyncConnection", "AsyncSession", "async_scoped_session"),
}
"""Classes that a client can join."""

SYNC_POOLS, ASYNC_POOLS = ("ConnectionPool",), ("AsyncConnectionPool",)

_NAMES_OF_TYPES = {
    "bigint": "before_id expected first_id job_id jobs_per_range last_id lease_token",
    "bigint[]": "job_ids order_nos",
    "boolean": "dry_run enabled force include_busy oldest_first once_a_minute paused"
    " retry_backoff retryable was_executing",
    "integer": "batch_size capacity events_count extra_attempts fast_retries key_limit"
    " key_rate_burst key_rate_count max_attempts max_lanes max_ranges max_rows max_running most"
    " priority progress rate_burst rate_count row_offset slow_retries",
    "integer[]": "priorities",
    "interval": "dead_letter_retention debounce delay fast_max fast_min key_rate_interval lease"
    " max_age max_wait rate_interval retention retry_delay retry_delay_max retry_in run_in"
    " slow_delay timeout ttl",
    "interval[]": "backoff_schedule",
    "jsonb": "filter headers jobs keys_if_undelivered payload result until",
    "jsonb[]": "payloads results",
    "name": "role",
    "pgbaton.on_exhausted": "on_exhausted",
    "pgbaton.queue_policy": "policy",
    "text[]": "afters dedup_ids error_messages error_stacks job_types key on_faileds prefix queues"
    " singleton_keys tags",
    "timestamptz": "run_at",
    "timestamptz[]": "run_ats",
}
TYPES = {name: kind for kind, names in _NAMES_OF_TYPES.items() for name in names.split()}
"""What to cast an argument to, by its name, which means one type in all functions; else text."""

TYPES_IN = {("enqueue_job", "after"): "bigint[]"}
"""But for these."""

RESULTS: dict[str, Any] = {
    "create_schedule": datetime,
    "pause_schedule": datetime,
    "two_phase_backoff": list[timedelta],
}
"""What a function returns, if it is one value that JSON has no type for."""


def type_of(function: str, parameter: str) -> str:
    return TYPES_IN.get((function, parameter)) or TYPES.get(parameter, "text")


@lru_cache
def statement(function: str, parameters: tuple[str, ...], numbered: bool) -> str:
    """The call, with parameters $1, $2 if they are numbered, else :name."""
    places = (f"${number}" if numbered else f":{name}" for number, name in enumerate(parameters, 1))
    arguments = ", ".join(
        f"{name} => cast(cast({place} as text) as {type_of(function, name)})"
        for name, place in zip(parameters, places, strict=True)
    )
    # All names are in this package's own source.
    called = f"pgbaton.{function}({arguments})"
    return f"select cast(to_json(answer) as text) from {called} as answer"  # noqa: S608


@lru_cache
def _text_clause(function: str, parameters: tuple[str, ...]) -> TextClause:
    from sqlalchemy import text

    return text(statement(function, parameters, False))


def plain(statement: str) -> TextClause:
    """A statement without parameters, for SQLAlchemy."""
    from sqlalchemy import text

    return text(statement.replace(":", "\\:"))


def text_clause(function: str, given: Required) -> tuple[TextClause, dict[str, str | None]]:
    """What SQLAlchemy is to execute."""
    parameters = tuple(given)
    return _text_clause(function, parameters), dict(zip(parameters, texts(given), strict=True))


def driver_of(connection: Any) -> object:
    """The driver's connection below one of SQLAlchemy."""
    connection = getattr(connection, "sync_connection", None) or connection
    return connection.connection.driver_connection


def check_dialect(name: str) -> None:
    if name != "postgresql":
        raise TypeError(f"a connection to {name}: pgbaton is in PostgreSQL, pass one to that")


def is_session(lender: object) -> bool:
    return not is_one_of(lender, "sqlalchemy", ("Connection", "AsyncConnection"))


def is_one_of(thing: object, package: str, names: tuple[str, ...]) -> bool:
    """Whether its class, or one that it comes from, has one of these names in that package."""
    return any(
        kind.__name__ in names and kind.__module__.partition(".")[0] == package
        for kind in type(thing).__mro__
    )


def is_of_asyncpg(connection: object) -> bool:
    return is_one_of(connection, "asyncpg", ("Connection", "PoolConnectionProxy"))


def is_joined_by(client: str, connection: object) -> bool:
    """Whether the class of that name can join it."""
    if client == "AsyncClient":
        is_own = isinstance(connection, psycopg.AsyncConnection) or is_of_asyncpg(connection)
    else:
        is_own = isinstance(connection, psycopg.Connection)
    return is_own or is_one_of(connection, "sqlalchemy", SQLALCHEMY[client])


def refusal(client: str, connection: object) -> str:
    """Why a client cannot join this connection, and what to do."""
    return f"{client} cannot join {_full_name(connection)}: {_advice(client, connection)}"


def check_pool(client: str, pool: object) -> None:
    """Raises a TypeError that says what to do if the client of that name cannot borrow from it."""
    other, names = (
        ("Client", SYNC_POOLS) if client == "AsyncClient" else ("AsyncClient", ASYNC_POOLS)
    )
    if is_joined_by(client, pool):
        advice = f"pass {client}(connection=...)"
    elif is_one_of(pool, "psycopg_pool", names):
        advice = f"pass it to {other}"
    elif callable(getattr(pool, "connection", None)):
        return
    elif isinstance(pool, str):
        advice = f"pass {client}(dsn)"
    elif type(pool).__module__.partition(".")[0] in ("asyncpg", "sqlalchemy"):
        advice = f"pass a connection of it, as {client}(connection=...)"
    else:
        kind = "AsyncConnectionPool" if client == "AsyncClient" else "ConnectionPool"
        advice = f"pass a psycopg_pool.{kind}"
    raise TypeError(f"pool: {client} cannot borrow from {_full_name(pool)}: {advice}")


def _advice(client: str, connection: object) -> str:
    other = "Client" if client == "AsyncClient" else "AsyncClient"
    package = type(connection).__module__.partition(".")[0]
    if is_joined_by(other, connection):
        return f"pass it to {other}"
    if package == "sqlalchemy":
        return "pass a connection or session that was made with it"
    if package == "asyncpg":
        return "pass a connection that you acquired from it"
    if package == "django":
        return "use pgbaton.django.client()"
    if package == "psycopg2":
        return "pass a connection of psycopg 3, or of SQLAlchemy with any driver"
    if package == "psycopg_pool":
        return f"pass {client}(pool=...)"
    if isinstance(connection, str):
        return f"pass {client}(dsn)"
    drivers = ", asyncpg" if client == "AsyncClient" else ""
    return f"pass a connection of psycopg{drivers} or SQLAlchemy"


def _full_name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def texts(given: Required) -> list[str | None]:
    return [_text(value) for value in given.values()]


def _text(value: Argument) -> str | None:
    return array(value) if isinstance(value, JsonList) else value


def rows(
    function: str, kind: type[Any] | None, answers: Iterable[str | None]
) -> tuple[list[str], Rows]:
    """What came back, as psycopg would have it: of `kind`, or of one column."""
    if kind is None:
        convert = _converter(RESULTS.get(function))
        return [function], [(convert(_parsed(answer)),) for answer in answers]
    columns = _columns(kind)  # type: ignore[arg-type]  # a class is hashable
    return [name for name, _ in columns], [
        tuple(convert(row[name]) for name, convert in columns) for row in map(_parsed, answers)
    ]


@lru_cache
def _columns(kind: type[Any]) -> Sequence[tuple[str, Callable[[Any], Any]]]:
    return [(name, _converter(hint)) for name, hint in get_type_hints(kind).items()]


def _converter(hint: Any) -> Callable[[Any], Any]:
    kinds = (hint, *get_args(hint))
    if get_origin(hint) is list:
        convert = _converter(kinds[1])
        return lambda values: None if values is None else [convert(value) for value in values]
    if datetime in kinds:
        return lambda value: None if value is None else datetime.fromisoformat(value)
    if timedelta in kinds:
        return lambda value: None if value is None else duration(value)
    return lambda value: value


def _parsed(answer: str | None) -> Any:
    return None if answer is None else json.loads(answer, parse_int=_integer)


def _integer(digits: str) -> int | UnreadableJson:
    """One number that Python cannot read must not cost the rows around it."""
    try:
        return int(digits)
    except ValueError as error:
        return UnreadableJson(digits, str(error).partition(";")[0])


_DURATION = re.compile(
    r"(?:([-+]?\d+) years? ?)?(?:([-+]?\d+) mons? ?)?(?:([-+]?\d+) days? ?)?"
    r"(?:([-+]?)(\d+):(\d\d):(\d\d(?:\.\d+)?))?"
)


def duration(text: str) -> timedelta:
    """An interval as PostgreSQL writes it; a month is 30 days and a year 365, as in psycopg."""
    found = _DURATION.fullmatch(text)
    if not found:
        raise psycopg.DataError(f"cannot read the interval {text!r}: set IntervalStyle to postgres")
    years, months, days = (int(part or 0) for part in found.groups()[:3])
    sign, hours, minutes, seconds = found.groups(default="0")[3:]
    time = timedelta(hours=int(hours), minutes=int(minutes))
    time += timedelta(microseconds=round(float(seconds) * 1_000_000))
    return timedelta(days=years * 365 + months * 30 + days) + (-time if sign == "-" else time)


def translated(error: BaseException) -> psycopg.Error | None:
    """The error that psycopg would have raised; None if it is not one of the server's."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, psycopg.Error):
            return typed(seen) if seen.sqlstate else None
        if fields := _fields(seen):
            kind = class_of(fields[DiagnosticField.SQLSTATE])
            info = {field: value.encode() for field, value in fields.items()}
            return kind(fields[DiagnosticField.MESSAGE_PRIMARY], info=info)  # type: ignore[arg-type]
        seen = getattr(seen, "orig", None) or seen.__cause__
    return None


def _fields(error: BaseException) -> dict[DiagnosticField, str]:
    """What the server said; empty if this is not the driver's error that tells it."""
    said = getattr(error, "diag", None)
    if said is not None:  # psycopg2
        names = ("sqlstate", "message_primary", "message_detail", "message_hint", "context")
    else:  # asyncpg
        said, names = error, ("sqlstate", "message", "detail", "hint", "context")
        if not hasattr(error, "hint"):
            return {}
    values = {field: getattr(said, name, None) for field, name in zip(_FIELDS, names, strict=True)}
    given = {field: value for field, value in values.items() if isinstance(value, str)}
    return given if DiagnosticField.SQLSTATE in given else {}


_FIELDS = (
    DiagnosticField.SQLSTATE,
    DiagnosticField.MESSAGE_PRIMARY,
    DiagnosticField.MESSAGE_DETAIL,
    DiagnosticField.MESSAGE_HINT,
    DiagnosticField.CONTEXT,
)
