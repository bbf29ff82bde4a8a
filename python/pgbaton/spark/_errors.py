"""What a database said to an executor, as an exception here."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

import psycopg
from pyspark.errors import PySparkException

# How a refusal travels through Spark, which hands on text alone.
_MARK = re.compile(r"\[pgbaton (\w{5})\] (.*?)(?: \[hint: (.*?)\])? \[end\]", re.DOTALL)
BAD_ARGUMENT = "22023"
CONNECTION_FAILURE = "08006"
# What a pooler says that gives each transaction another server connection.
PREPARED_ELSEWHERE = {"42P05", "26000"}


class Refused(Exception):
    """Raised where Spark runs this package; its text carries the refusal to the caller."""


@dataclass(frozen=True)
class Refusal:
    """Why rows were not enqueued, without a value of theirs."""

    sqlstate: str
    message: str
    hint: str | None = None

    @classmethod
    def of(cls, error: psycopg.Error) -> Refusal:
        message = error.diag.message_primary or str(error).splitlines()[0]
        state = error.sqlstate or CONNECTION_FAILURE
        return cls(state, in_our_words(state, message), error.diag.message_hint)

    @classmethod
    def in_text(cls, text: str) -> Refusal | None:
        found = _MARK.search(text)
        return cls(*found.groups()) if found else None

    def __str__(self) -> str:
        hint = f" [hint: {self.hint}]" if self.hint else ""
        return f"[pgbaton {self.sqlstate}] {self.message}{hint} [end]"

    def throw(self) -> NoReturn:
        """Raises the class of the SQLSTATE, as if the statement had been sent from here."""
        raise_database_error(self.sqlstate, self.message, self.hint)


def in_our_words(sqlstate: str | None, message: str, json_column: str = "payload") -> str:
    """The message, with the column where PostgreSQL does not name it, and without its value."""
    if sqlstate == "22P02" and "json" in message:
        return f'column "{json_column}" holds text that is not JSON'
    if sqlstate == "22P05":
        return f'column "{json_column}" holds \\u0000, which PostgreSQL cannot store'
    if sqlstate == "22021" and "0x00" in message:
        return "a text holds a NUL character, which PostgreSQL cannot store"
    if sqlstate == "22021":
        return "a text holds bytes that are not UTF-8"
    if sqlstate == "22003" and "integer" in message:
        return 'column "priority" holds a number that is out of range for an integer'
    return message


def hint_for(sqlstate: str | None, said: str | None) -> str | None:
    """What the database advises, or what a pooler cannot know."""
    if said is None and sqlstate in PREPARED_ELSEWHERE:
        return (
            "A pooler in transaction mode mixes up the driver's prepared statements: use the "
            'method "datasource", pool by session, or set max_prepared_statements in PgBouncer '
            "1.21 or newer."
        )
    return said


def raise_database_error(sqlstate: str | None, message: str, hint: str | None) -> NoReturn:
    """Raises the class of the SQLSTATE, as if the statement had been sent from here."""
    try:
        kind = psycopg.errors.lookup(sqlstate or "")
    except KeyError:
        kind = psycopg.DatabaseError
    raise kind(f"{message}\nHINT:  {hint}" if hint else message) from None


# What is said where a Python works that lacks what this one has, or is another version.
_OTHER_PYTHON = re.compile(r"ModuleNotFoundError: No module named|PYTHON_VERSION_MISMATCH")


@contextmanager
def other_pythons_noted() -> Iterator[None]:
    """Around work in Spark's Python workers: an error that comes of their Python says so."""
    try:
        yield
    except PySparkException as error:
        if _OTHER_PYTHON.search(str(error)):
            error.add_note(
                "Spark's Python workers are not the Python that runs this: set PYSPARK_PYTHON to "
                f"{sys.executable} before the session is made, or install pgbaton[spark] there."
            )
        raise
