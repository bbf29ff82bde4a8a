"""How a command fails: one sentence, a hint, an exit code; never a traceback."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import NoReturn, ParamSpec

import psycopg
import typer
from rich.console import Console

from pgbaton._assemble import SourceError
from pgbaton._extras import MissingExtra
from pgbaton._text import sentence
from pgbaton.cli._hints import NO_DATABASE, hint_of
from pgbaton.cli._text import clean
from pgbaton.embedded import ServerError
from pgbaton.install import InstallError

P = ParamSpec("P")

FAILED = 1
USAGE = 2
UNHEALTHY = 3

EXPECTED = (InstallError, MissingExtra, OSError, ServerError, SourceError, ValueError)

notes = Console(stderr=True, highlight=False, soft_wrap=True)


def one_sentence_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turns the errors a user can cause into a sentence on stderr and exit code 1."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except BrokenPipeError:  # whoever read has seen enough
            raise
        except psycopg.Error as error:
            is_unnamed = kwargs.get("dsn") == "" and error.sqlstate is None
            fail(sentence(error), NO_DATABASE if is_unnamed else hint_of(error))
        except EXPECTED as error:
            fail(str(error))

    return run


@contextmanager
def hint_at_database(dsn: object) -> Iterator[None]:
    """Around what connects by itself: without a DSN, libpq looked where nobody meant."""
    try:
        yield
    except psycopg.OperationalError as error:
        if dsn or error.sqlstate is not None:
            raise
        fail(sentence(error), NO_DATABASE)


def fail(message: str, hint: str | None = None, code: int = FAILED) -> NoReturn:
    """Ends the command."""
    say(f"pgbaton: {clean(message)}", style="red")
    if hint:
        say(f"hint: {clean(hint)}")
    raise typer.Exit(code)


def say(message: str, style: str | None = None) -> None:
    """Notes for people go to stderr: stdout is for what was asked."""
    notes.print(message, style=style, markup=False)


@contextmanager
def listening(host: str, port: int) -> Iterator[None]:
    """Around what takes a port of the user's choice."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            fail(f"port {port} of {host} is in use", "Pass another --port, or stop what has it.")
        if error.errno in (errno.EACCES, errno.EADDRNOTAVAIL):
            fail(f"cannot listen on port {port} of {host}: {error.strerror}")
        raise
