"""The errors of pgbaton: one class for each SQLSTATE of docs/errors.md that begins with PB.

    psycopg.DatabaseError
    └── PgbatonError
        ├── IncompatibleServer   the database has another version of pgbaton, or none
        ├── UnknownQueue         PB001
        ├── UnknownJob           PB002
        ├── InvalidState         PB003
        ├── LeaseLost            PB004
        ├── KeyRequired          PB005
        ├── DuplicateJob         PB006
        ├── QueueExists          PB007
        ├── QueueNotEmpty        PB008
        ├── NotPermitted         PB009
        ├── TooManyLanes         PB010
        ├── PayloadTooLarge      PB011
        ├── KeyBlocked           PB012
        └── RunExists            PB013

Bad arguments have standard SQLSTATEs, so psycopg's own classes stand for them: among others
psycopg.errors.InvalidParameterValue, NullValueNotAllowed and ArraySubscriptError.
A value that cannot be sent to the server raises ValueError.
"""

from __future__ import annotations

import psycopg

__all__ = [
    "DuplicateJob",
    "IncompatibleServer",
    "InvalidState",
    "KeyBlocked",
    "KeyRequired",
    "LeaseLost",
    "NotPermitted",
    "PayloadTooLarge",
    "PgbatonError",
    "QueueExists",
    "QueueNotEmpty",
    "RunExists",
    "TooManyLanes",
    "UnknownJob",
    "UnknownQueue",
]


class PgbatonError(psycopg.DatabaseError):
    """Base of all errors of pgbaton; `str(error)` says what is wrong, `hint` what to do."""

    @property
    def hint(self) -> str | None:
        """The sentence that says what to do next; None if the server sent none."""
        return self.diag.message_hint


class IncompatibleServer(PgbatonError):
    """The database has another version of pgbaton than this package works with, or none."""


# `code` registers the class with psycopg, which then raises it itself.


class UnknownQueue(PgbatonError, code="PB001"):
    """There is no queue of that name."""


class UnknownJob(PgbatonError, code="PB002"):
    """There is no job of that id, or it belongs to another queue."""


class InvalidState(PgbatonError, code="PB003"):
    """The state of the job, or the policy of the queue, does not allow the call."""


class LeaseLost(PgbatonError, code="PB004"):
    """The job was given to somebody else, or it holds a key and the call has no lease_token."""


class KeyRequired(PgbatonError, code="PB005"):
    """A FIFO queue takes no job without a singleton_key."""


class DuplicateJob(PgbatonError, code="PB006"):
    """The queue knows the dedup_id, or its policy allows no further job of the key."""


class QueueExists(PgbatonError, code="PB007"):
    """The queue exists with other settings."""


class QueueNotEmpty(PgbatonError, code="PB008"):
    """The queue still has live jobs."""


class NotPermitted(PgbatonError, code="PB009"):
    """The role may not do this on this queue."""


class TooManyLanes(PgbatonError, code="PB010"):
    """The queue has as many combinations of priority, job_type and tags as it may have."""


class PayloadTooLarge(PgbatonError, code="PB011"):
    """A payload or result is too large or too deep, or a number too long, or headers too large."""


class KeyBlocked(PgbatonError, code="PB012"):
    """The key is blocked."""


class RunExists(PgbatonError, code="PB013"):
    """The run_id stands for other data, or for the same in other partitions."""


_BY_SQLSTATE: dict[str, type[PgbatonError]] = {
    kind.sqlstate: kind for kind in PgbatonError.__subclasses__() if kind.sqlstate
}


def class_of(sqlstate: str) -> type[psycopg.Error]:
    """What is raised for a SQLSTATE."""
    if ours := _BY_SQLSTATE.get(sqlstate):
        return ours
    try:
        return psycopg.errors.lookup(sqlstate)
    except KeyError:
        return psycopg.DatabaseError


NO_RIGHTS = (
    "Grant its role what it lacks: pgbaton_producer, pgbaton_worker, pgbaton_monitor or"
    " pgbaton_operator."
)


def typed(error: psycopg.Error) -> psycopg.Error:
    """The same error as our class, should psycopg have raised another one for the SQLSTATE.

    Its table is shared by the process: the last one who registered a code has it. An error of
    PostgreSQL about missing rights has no hint: a note of it says what helps.
    """
    if error.sqlstate == "42501" and NO_RIGHTS not in getattr(error, "__notes__", ()):
        error.add_note(NO_RIGHTS)
    kind = _BY_SQLSTATE.get(error.sqlstate or "")
    if kind is None or isinstance(error, kind):
        return error
    return kind(*error.args, info=error.pgresult)
