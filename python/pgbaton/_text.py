"""Errors and values as the command line and the gateway say them."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any

import psycopg


def sentence(error: psycopg.Error) -> str:
    """What is wrong, with the SQLSTATE when the server said it."""
    message = error.diag.message_primary or (str(error).splitlines() or [type(error).__name__])[0]
    return f"{message} ({error.sqlstate})" if error.sqlstate else message


def plain(value: Any) -> Any:
    """A value as JSON has it: instants as ISO 8601, durations in seconds, rows as objects."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value
