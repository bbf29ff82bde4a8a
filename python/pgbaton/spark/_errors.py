"""What a database said to an executor, as an exception here."""

from __future__ import annotations

from typing import NoReturn

import psycopg


def raise_database_error(sqlstate: str | None, message: str, hint: str | None) -> NoReturn:
    """Raises the class of the SQLSTATE, as if the statement had been sent from here."""
    try:
        kind = psycopg.errors.lookup(sqlstate or "")
    except KeyError:
        kind = psycopg.DatabaseError
    raise kind(f"{message}\nHINT:  {hint}" if hint else message) from None
