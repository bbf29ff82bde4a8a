"""The connections that Django opens, one for each thread and database alias."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections, transaction
from psycopg.conninfo import make_conninfo

from pgbaton._codec import Encode
from pgbaton.client import Client
from pgbaton.errors import IncompatibleServer
from pgbaton.models import ClaimedJob


def client(using: str = DEFAULT_DB_ALIAS, *, encode: Encode | None = None) -> Client:
    """A client on the connection that Django has for this thread.

    Its calls are part of `transaction.atomic`, where one is open; else each is a transaction of
    its own. It costs nothing to make one for each call.

    Args:
        using (str): alias of the database; default `default`.
        encode (Callable): makes JSON of payloads and results, as `Client` has it; default they
            are JSON already.

    Returns:
        Client: never to be closed.

    Raises:
        ImproperlyConfigured: the database is not PostgreSQL with psycopg 3.
    """
    if problem := problem_of(using):
        raise ImproperlyConfigured(problem)
    return Client(pool=ThreadsConnection(using), encode=encode)


def close_connections(job: ClaimedJob) -> Iterator[None]:
    """Around each attempt of a worker: closes the connections of its thread that Django would
    close after a request. Give it to `Worker.around` if handlers use Django's models.
    """
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


class ThreadsConnection:
    """The connection of whichever thread calls."""

    def __init__(self, using: str) -> None:
        self._using = using

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        wrapper = connections[self._using]
        wrapper.validate_no_broken_transaction()
        # As after an error of the ORM: the block must not be committed any more, and Django looks
        # after the request whether the connection still lives. Its cursor, which sends nothing
        # here, opens one where there is none, and refuses where tests may not ask the database.
        with wrapper.cursor(), transaction.mark_for_rollback_on_error(using=self._using):
            try:
                yield wrapper.connection
            except (psycopg.OperationalError, psycopg.InterfaceError):
                wrapper.errors_occurred = True
                raise
            except IncompatibleServer as error:
                raise IncompatibleServer(what_to_run(error)) from error

    def savepoint(self) -> AbstractContextManager[Any]:
        """As the function; for `pgbaton.testing`."""
        return savepoint(self._using)


def savepoint(using: str) -> AbstractContextManager[Any]:
    """One in the transaction that is open, else nothing."""
    wrapper = connections[using]
    is_open = wrapper.in_atomic_block or not wrapper.get_autocommit()
    return transaction.atomic(using=using) if is_open else nullcontext()


def what_to_run(error: IncompatibleServer) -> str:
    """What is wrong, and how it is put right in a project of Django."""
    return f"{str(error).partition(': run ')[0]}: run manage.py migrate"


def problem_of(using: str) -> str | None:
    """Why there can be no jobs in this database; None if there can."""
    settings = connections.settings.get(using)
    if settings is None:
        return f"DATABASES has no {using!r}: name one of {', '.join(connections.settings)}"
    wrapper = connections[using]
    if wrapper.vendor != "postgresql":
        return f"the database {using!r} is {wrapper.vendor}: pgbaton needs PostgreSQL"
    if getattr(getattr(wrapper, "Database", None), "__name__", "") != "psycopg":
        return (
            f"the database {using!r} uses psycopg2: install psycopg 3 (pip install psycopg),"
            " which Django prefers when it is there"
        )
    return None


def dsn_of(using: str) -> str:
    """Where Django connects to, for connections of a worker's own."""
    wrapper = connections[using]
    given = wrapper.get_connection_params()
    known = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()}
    if role := wrapper.settings_dict["OPTIONS"].get("assume_role"):
        setting = re.sub(r"([\\\s])", r"\\\1", f"role={role}")
        given["options"] = f"{given.get('options') or ''} -c {setting}".strip()
    return make_conninfo(
        **{name: str(value) for name, value in given.items() if name in known and value is not None}
    )
