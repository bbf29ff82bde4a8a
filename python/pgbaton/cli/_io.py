"""What the commands share: options, the client, answers, questions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import psycopg
import typer
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from pgbaton._calls import JsonTextLoader
from pgbaton._json_text import JsonText, pretty, read, write
from pgbaton._text import plain
from pgbaton.cli._errors import FAILED, USAGE, fail, notes, say
from pgbaton.cli._text import clean, shown
from pgbaton.client import Client


def _queue_names(incomplete: str) -> list[str]:
    """For the completion of the shell, which knows no option yet but the environment."""
    dsn = make_conninfo(os.environ.get("PGBATON_DSN", ""), connect_timeout=2)
    try:
        with Client(dsn) as client:
            return [name for name in client.granted_queues() if name.startswith(incomplete)]
    except psycopg.Error:
        return []


Dsn: TypeAlias = Annotated[
    str,
    typer.Option(
        "--dsn",
        envvar="PGBATON_DSN",
        help="Which database; without it libpq's environment (PGHOST, PGDATABASE, PGSERVICE, …).",
        show_default=False,
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="One JSON document instead of a table.")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Queue: TypeAlias = Annotated[
    str, typer.Argument(help="Name of the queue.", autocompletion=_queue_names)
]
MaybeQueue: TypeAlias = Annotated[
    str | None,
    typer.Argument(help="This queue only.", autocompletion=_queue_names, show_default="all"),
]
JobId: TypeAlias = Annotated[int, typer.Argument(help="Id of the job.")]
JobIds: TypeAlias = Annotated[list[int], typer.Argument(help="Ids of the jobs.")]


class TextClient(Client):
    """Payloads, results and headers pass through as the text that the database sent."""

    _jsonb_loader = JsonTextLoader


@contextmanager
def client_of(dsn: str) -> Iterator[Client]:
    """A client for the time of a command."""
    with TextClient(dsn) as client:
        yield client


@contextmanager
def transaction_of(dsn: str) -> Iterator[Client]:
    """A client whose calls are one transaction: all of them take effect, or none."""
    with psycopg.connect(dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # as a client with a DSN
        yield TextClient(connection=connection)


def out(fits_columns: bool = False) -> Console:
    """Stdout. Not a terminal: lines as long as they are, or as COLUMNS says."""
    console = Console(highlight=False)
    if not (console.is_terminal or (fits_columns and "COLUMNS" in os.environ)):
        console = Console(highlight=False, width=10_000)
    return console


NAMES = ("queue", "name", "singleton_key", "job_type")


def print_json(value: Any) -> None:
    """The one document of --json."""
    print(pretty(write(plain(value))))


def print_rows(rows: Sequence[Any], columns: Iterable[str], as_json: bool, nothing: str) -> None:
    """Rows of one kind: a table of some of their columns, or all of them as JSON."""
    if as_json:
        print_json(rows)
    elif not rows:
        say(nothing)
    else:
        out().print(table_of(rows, columns))


def table_of(rows: Sequence[Any], columns: Iterable[str]) -> Table:
    """`columns` are fields of the rows; numbers stand on the right."""
    names = list(columns)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        is_number = any(type(getattr(row, name)) is int for row in rows)
        side: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(name.replace("_", " "), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(name, getattr(row, name))) for name in names))
    return table


def cell_text(name: str, value: Any) -> str:
    """Ids are names, not amounts; a name is whole: a command has to know it."""
    is_name = value is not None and (name in NAMES or name == "id" or name.endswith("_id"))
    return " ".join(clean(str(value)).split("\n")) if is_name else shown(value)


def print_record(row: Any, as_json: bool) -> None:
    """One thing with all that is known of it; what is not known is left out."""
    if as_json:
        print_json(row)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _fields(row):
        if isinstance(value, JsonText):
            value = read(value) if value in ("null", "[]") or value[0] == '"' else pretty(value)
        if value is None or value in ([], ""):
            continue
        if isinstance(value, datetime):
            text = f"{value:%Y-%m-%d %H:%M:%S%z} ({shown(value)})"
        elif isinstance(value, dict):
            text = clean(pretty(write(plain(value))))
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        elif isinstance(value, str | int):
            text = clean(str(value))
        else:
            text = shown(value)
        table.add_row(name.replace("_", " "), Text(text))
    out().print(table)


def _fields(row: Any) -> list[tuple[str, Any]]:
    return [(name, getattr(row, name)) for name in row.__dataclass_fields__]


def print_answer(answer: dict[str, Any], text: object, as_json: bool) -> None:
    """What was asked for: a word or a sentence on stdout, or an object."""
    if as_json:
        print_json(answer)
    else:
        print(clean(str(text)))


def print_done(done: dict[str, Any], sentence: str, as_json: bool) -> None:
    """What a command did: a sentence on stderr, or an object."""
    if as_json:
        print_json(done)
    else:
        say(sentence)


def confirm(question: str, yes: bool) -> None:
    """Asks before something is lost; without anybody to ask --yes is needed."""
    if yes:
        return
    if not _is_asked():
        fail(f"there is nobody to ask: {question}", "Pass --yes; nothing was changed.", USAGE)
    if not typer.confirm(question, err=True):
        fail("nothing was changed", code=FAILED)


def _is_asked() -> bool:
    return sys.stdin.isatty()


def progress() -> Progress:
    """A bar on stderr; nothing when that is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=notes,
        transient=True,
        disable=not notes.is_terminal,
    )


def instant(value: str | None) -> datetime | None:
    """ISO 8601; without a zone it is local time.

    One that a change of the clock leaves out or repeats is read as PostgreSQL does: by the offset
    before a gap, and the second time.
    """
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is no instant: 2030-01-31T08:00+01:00") from error
    if read.tzinfo:
        return read
    return max((read.replace(fold=fold).astimezone() for fold in (0, 1)), key=datetime.timestamp)
