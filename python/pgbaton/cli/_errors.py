"""How a command fails: one sentence, a hint, an exit code; never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec

import psycopg
import typer
from rich.console import Console

from pgbaton._assemble import SourceError
from pgbaton._extras import MissingExtra
from pgbaton._text import sentence
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
            fail(sentence(error), error.diag.message_hint)
        except EXPECTED as error:
            fail(str(error))

    return run


def fail(message: str, hint: str | None = None, code: int = FAILED) -> NoReturn:
    """Ends the command."""
    say(f"pgbaton: {clean(message)}", style="red")
    if hint:
        say(f"hint: {clean(hint)}")
    raise typer.Exit(code)


def say(message: str, style: str | None = None) -> None:
    """Notes for people go to stderr: stdout is for what was asked."""
    notes.print(message, style=style, markup=False)
