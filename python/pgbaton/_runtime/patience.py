"""Which errors of the database pass by themselves."""

from __future__ import annotations

import psycopg

PASSING = ("08", "40", "53", "57")
"""Classes of errors that pass by themselves: a server that restarts, is full, broke a tie."""
STANDBY = "25006"
"""The server writes no more: it became a standby, and the connection should find the primary."""


TIES = {"40001", "40P01"}
"""Two transactions met, and the other one was faster: where SERIALIZABLE is the default, often."""
MOST_TIES = 10
"""So many in a row are no matter of chance."""


def is_tie(error: psycopg.Error) -> bool:
    """Whether the same call succeeds at once, as a rule."""
    return error.sqlstate in TIES


def passes(error: psycopg.Error) -> bool:
    """Whether the same call may succeed later; without an SQLSTATE the connection broke."""
    code = error.sqlstate
    if code is None:
        return isinstance(error, psycopg.OperationalError)
    return code[:2] in PASSING or code in (STANDBY, psycopg.errors.LockNotAvailable.sqlstate)
