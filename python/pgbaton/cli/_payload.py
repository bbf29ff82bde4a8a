"""JSON from an argument, a file or stdin."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import typer


def read_json(argument: str, name: str = "payload") -> Any:
    """JSON itself, @file, or - for stdin."""
    if argument == "-":
        text = sys.stdin.read()
    elif argument.startswith("@"):
        text = Path(argument[1:]).read_text()
    else:
        text = argument
    return parse(text, name)


def parse(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise typer.BadParameter(
            f"the {name} is no JSON: {error}. A text is JSON in quotes: '\"text\"'"
        ) from error
    except RecursionError as error:
        raise typer.BadParameter(f"the {name} is nested too deeply") from error


def open_lines(path: str) -> IO[bytes]:
    """A file, or stdin for -."""
    return sys.stdin.buffer if path == "-" else Path(path).open("rb")


def json_lines(file: IO[bytes]) -> Iterator[tuple[Any, int]]:
    """The value of each line that is not empty, and how many bytes it took."""
    for number, line in enumerate(file, 1):
        if line.strip():
            yield parse(line.decode(), f"line {number}"), len(line)
