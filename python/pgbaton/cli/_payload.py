"""JSON from an argument, a file or stdin, kept as it is written."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from json import JSONDecodeError
from pathlib import Path
from typing import IO, TypeVar

import typer

from pgbaton._json_text import JsonText, checked, members_of, read
from pgbaton.cli._text import one_line

T = TypeVar("T")
LONGEST_KEY = 1024


def read_json(argument: str, name: str = "payload") -> JsonText:
    """JSON itself, @file, or - for stdin."""
    if argument == "-":
        text = sys.stdin.read()
    elif argument.startswith("@"):
        text = Path(argument[1:]).read_text()
    else:
        text = argument
    return parse(text, name)


def parse(text: str, name: str) -> JsonText:
    return _json(checked, text, name)


def parse_object(text: str, name: str) -> dict[str, JsonText] | None:
    """Its members; None if it is something else."""
    return _json(members_of, text, name)


def _json(parsed: Callable[[str], T], text: str, name: str) -> T:
    try:
        return parsed(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"the {name} is no JSON: {_why(error)}. A text is JSON in quotes: '\"text\"'"
        ) from error
    except RecursionError as error:
        raise typer.BadParameter(f"the {name} is nested too deeply") from error


def _why(error: ValueError) -> str:
    """Without the number of a line where there is only one, and others are counted."""
    if isinstance(error, JSONDecodeError) and error.lineno == 1:
        return f"{error.msg} at character {error.colno}"
    return str(error)


def field_text(payload: str, field: str) -> str:
    """A field as the operator ->> of jsonb has it: what is equal there is one key."""
    value = (members_of(payload) or {}).get(field, "null")
    if value == "null":
        raise typer.BadParameter(f"a payload has no field {field!r}")
    if value.startswith('"'):
        return str(read(value))
    return _digits(value) if value[0] in "-0123456789" else str(value)


def _digits(number: str) -> str:
    """Without an exponent."""
    value = Decimal(number)
    if value and abs(value.adjusted()) > LONGEST_KEY:
        raise typer.BadParameter(f"the number {one_line(number)} is too long for a key")
    return format(value.copy_abs() if value == 0 else value, "f")


def open_lines(path: str) -> IO[bytes]:
    """A file, or stdin for -."""
    return sys.stdin.buffer if path == "-" else Path(path).open("rb")


def numbered_lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, counted from 1 with those that are."""
    return ((number, line) for number, line in enumerate(file, 1) if line.strip())


@contextmanager
def of_line(number: int) -> Iterator[None]:
    """What is wrong in there is said with the number of the line."""
    try:
        yield
    except typer.BadParameter as error:
        raise typer.BadParameter(f"line {number:,}: {error.message}") from error
    except (TypeError, ValueError) as error:  # a number for a text, NUL, no UTF-8
        raise typer.BadParameter(f"line {number:,}: {_of_json(str(error))}") from error


# What is to be passed, in words of Python and of JSON.
_PASS = {
    "pass a str": "pass a text, in quotes",
    "pass an int": "pass a whole number, without quotes",
    "pass True or False": "pass true or false",
    "pass a dict of texts": "pass an object of texts",
}


def _of_json(message: str) -> str:
    """What the client says of a job of its own list, for who wrote a line."""
    message = re.sub(r"pass .*timedelta.* or text", "pass text", message.removeprefix("job 1: "))
    for ours, theirs in _PASS.items():
        message = message.replace(ours, theirs)
    return message
