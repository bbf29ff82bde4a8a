"""Every public function with valid arguments, and what the tables say before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import test_contract as contract

from pgbaton import Client
from pgbaton._sync import caller

Connection = psycopg.Connection[Any]
Execute = Callable[[Connection, str, Any], Any]

STEPS = (
    contract.make_queues,
    contract.enqueue,
    contract.work,
    contract.cancel,
    contract.bury,
    contract.repair,
    contract.let_go,
    contract.wait_for_jobs_of_others,
    contract.schedule,
    contract.look,
)


def call_everything(client: Client) -> None:
    """Makes all calls of the contract test, which checks each result."""
    for step in STEPS:
        step(client)
    client.version()


@contextmanager
def each_call(around: Callable[[Execute, Connection, str, Any], Any]) -> Iterator[set[str]]:
    """Has `around` make the calls of all clients; gives the names of what was called so far."""
    called: set[str] = set()
    execute = caller._execute

    def replaced(connection: Connection, function: str, given: Any, *rest: Any) -> Any:
        called.add(function)

        def plain(connection: Connection, function: str, given: Any) -> Any:
            return execute(connection, function, given, *rest)

        return around(plain, connection, function, given)

    caller._execute = replaced
    try:
        yield called
    finally:
        caller._execute = execute


def tables(conn: Connection) -> list[str]:
    rows = conn.execute("""
        select c.oid::regclass::text from pg_class as c
        where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p')
            and not c.relispartition
        order by 1
    """)
    return [name for (name,) in rows]


def everything(conn: Connection) -> dict[str, str]:
    """A digest of the rows of each table."""
    each = (
        f"select '{t}', md5(string_agg(t::text, ' ' order by t::text)) from {t} as t"  # noqa: S608
        for t in tables(conn)
    )
    return dict(conn.execute(" union all ".join(each).encode()).fetchall())
