"""Which errors of the database pass by themselves."""

from __future__ import annotations

import psycopg

PASSING = ("08", "40", "53", "57")
"""Classes of errors that pass by themselves: a server that restarts, is full, broke a tie."""
STANDBY = "25006"
"""The server writes no more: it became a standby, and the connection should find the primary."""


def passes(error: psycopg.Error) -> bool:
    """Whether the same call may succeed later; without an SQLSTATE the connection broke."""
    code = error.sqlstate
    if code is None:
        return isinstance(error, psycopg.OperationalError)
    return code[:2] in PASSING or code in (STANDBY, psycopg.errors.LockNotAvailable.sqlstate)
