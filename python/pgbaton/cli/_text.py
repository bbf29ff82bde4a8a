"""Values as people read them, and as scripts do."""

from __future__ import annotations

import codecs
import io
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from pgbaton._text import plain


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """The letters that an encoding lacks, as JSON escapes them."""
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    return json.dumps(letters)[1:-1], error.end


def escape_on_stdout() -> None:
    """A terminal or file that lacks a letter (LC_ALL=C, Latin-1) gets its escape, not an error."""
    codecs.register_error("pgbaton.escape", _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="pgbaton.escape")


def clean(value: str) -> str:
    """Without control characters: what a job says must not steer the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in value)


def one_line(value: str, width: int = 60) -> str:
    """The first words of a text."""
    text = " ".join(clean(value).split())
    return text if len(text) <= width else text[: width - 1] + "…"


def duration(value: timedelta | None) -> str:
    """The two largest units: 2h 5m, 3.2s, 40ms."""
    if value is None:
        return ""
    seconds = value.total_seconds()
    if seconds < 0:
        return "-" + duration(-value)
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 10:
        return f"{seconds:.1f}s"
    parts: list[str] = []
    rest = round(seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count}{unit}" if count else "")
    return " ".join(part for part in parts[:2] if part)


def when(value: datetime | None, now: datetime | None = None) -> str:
    """How long ago, or in how long."""
    if value is None:
        return ""
    age = (now or datetime.now(UTC)) - value
    return f"in {duration(-age)}" if age < timedelta(0) else f"{duration(age)} ago"


def shown(value: Any) -> str:
    """A value of a row in a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, datetime):
        return when(value)
    if isinstance(value, timedelta):
        return duration(value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return clean(", ".join(value))
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, int):
        return f"{value:,}"
    return one_line(json.dumps(plain(value), ensure_ascii=False))
