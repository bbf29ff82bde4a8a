"""What a database said to an executor, as an exception here."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

import psycopg
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

# How a refusal travels through Spark, which hands on text alone.
_MARK = re.compile(
    r"\[pgbaton (\w{5})\] (.*?)(?: \[hint: (.*?)\])?(?: \[row (\d+) of (\d+)\])? \[end\]", re.DOTALL
)
_MISSING = re.compile(r"No module named '(pgbaton|psycopg|psycopg_binary|pyarrow|numpy)\b")
# Characters of a bad row that a message shows.
SHOWN = 40
BAD_ARGUMENT = "22023"
# Besides data exceptions: waits for a job that is not known, no key, a payload that is too large.
OF_A_ROW = {"PB002", "PB005", "PB011"}
CONNECTION_FAILURE = "08006"
# What a pooler says that gives each transaction another server connection.
PREPARED_ELSEWHERE = {"42P05", "26000"}


class Refused(Exception):
    """Raised where Spark runs this package; its text carries the refusal to the caller."""


@contextmanager
def refusals() -> Iterator[None]:
    """What the database says, as an exception that carries no row; where Spark runs this."""
    try:
        yield
    except psycopg.Error as error:
        raise Refused(str(Refusal.of(error))) from None


@contextmanager
def plain_errors() -> Iterator[None]:
    """What went wrong as a caller reads it: without pages of Spark, rows, and inner functions."""
    try:
        yield
    except psycopg.Error as error:
        without_context(error)
        raise
    except (Refused, PySparkException, Py4JError) as error:
        text = str(error)
        if refusal := Refusal.in_text(text):
            refusal.throw()
        if missing := _MISSING.search(text):
            raise missing_package(missing[1]) from None
        raise


def shortened(value: object) -> str:
    """How a text begins, in quotes, without what would upset a terminal."""
    text = str(value)
    return repr(text[:SHOWN] + ("…" if len(text) > SHOWN else ""))


def without_context(error: psycopg.Error) -> None:
    """Leaves out of its text which functions of the database called each other, and rows."""
    said = error.diag
    if said.message_primary:
        hint = f"\nHINT:  {said.message_hint}" if said.message_hint else ""
        error.args = (said.message_primary + hint,)


def missing_package(name: str) -> ImportError:
    """What to do when a package is not where Spark runs Python."""
    what = "pass --py-files with the file that `pgbaton spark-zip` writes"
    if name != "pgbaton":
        what = f"install {name} in the Python that spark.pyspark.python names, or pass --archives"
    return ImportError(
        f"Spark's Python workers have no {name}: set PYSPARK_PYTHON to {sys.executable} where they "
        f"are on this machine, else {what} (docs/spark.md, Shipping)",
        name=name,
    )


@dataclass(frozen=True)
class Place:
    """Where a row stood when it was written: its number, from 1, in a partition of Spark's."""

    row: int
    part: int

    def __str__(self) -> str:
        return f"row {self.row} of partition {self.part}"


@dataclass(frozen=True)
class Refusal:
    """Why rows were not enqueued, without a value of theirs."""

    sqlstate: str
    message: str
    hint: str | None = None
    place: Place | None = None

    @property
    def is_of_a_row(self) -> bool:
        """Whether rows without the bad one would be taken."""
        return self.sqlstate[:2] == "22" or self.sqlstate in OF_A_ROW

    @classmethod
    def of(cls, error: psycopg.Error) -> Refusal:
        message = error.diag.message_primary or str(error).splitlines()[0]
        state = error.sqlstate or CONNECTION_FAILURE
        return cls(state, in_our_words(state, message), error.diag.message_hint)

    @classmethod
    def in_text(cls, text: str) -> Refusal | None:
        found = _MARK.search(text)
        if found is None:
            return None
        state, message, hint, row, part = found.groups()
        return cls(state, message, hint, Place(int(row), int(part)) if row else None)

    def __str__(self) -> str:
        hint = f" [hint: {self.hint}]" if self.hint else ""
        row = f" [{self.place}]".replace("partition ", "") if self.place else ""
        return f"[pgbaton {self.sqlstate}] {self.message}{hint}{row} [end]"

    def throw(self, looks: str = "") -> NoReturn:
        """Raises the class of the SQLSTATE, as if the statement had been sent from here.

        looks: how the row that is meant can be found.
        """
        place = f" ({self.place}{looks})" if self.place else ""
        raise_database_error(self.sqlstate, self.message + place, self.hint)


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
