"""Packages that only some parts of pgbaton need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtra(ModuleNotFoundError):
    """A package is not installed; the message is the line that installs it."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around imports of what an extra brings."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "pgbaton"):
            raise
        message = f"{package} is not installed: pip install 'pgbaton[{name}]'"
        raise MissingExtra(message, name=error.name) from error
