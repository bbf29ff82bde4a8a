"""db: the embedded database for development."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import Annotated

import psycopg
import typer
from psycopg import sql

from pgbaton import install as installer
from pgbaton.cli._errors import fail, say
from pgbaton.cli._setup import note_outcome
from pgbaton.embedded import Server

DATABASE = "pgbaton"


def own_dsn() -> str | None:
    """The server of the user's own, if one is named."""
    return os.environ.get("PGBATON_DSN") or None


def start_database() -> str:
    """Starts the embedded server if it is needed, installs the current build, returns the DSN."""
    if dsn := own_dsn():
        note_outcome(installer.install(dsn))
        return dsn
    server = Server()
    if not server.is_running():
        say(f"starting PostgreSQL {server.major} from {server.bindir}")
    server.start()
    create_database(server.dsn())
    dsn = server.dsn(dbname=DATABASE)
    note_outcome(installer.install(dsn, replace=is_outdated_development_build(dsn)))
    return dsn


def create_database(maintenance_dsn: str) -> None:
    with psycopg.connect(maintenance_dsn, autocommit=True) as conn:
        if not conn.execute("select from pg_database where datname = %s", [DATABASE]).fetchall():
            # Another process may be faster; what matters is that the database is there.
            with suppress(psycopg.errors.DuplicateDatabase):
                conn.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))


def is_outdated_development_build(dsn: str) -> bool:
    """Before a release there is no upgrade: the embedded database follows the checkout."""
    with psycopg.connect(dsn) as conn:
        found = installer.installed(conn)
    if found is None or found.is_extension or found.build == installer.build():
        return False
    return ".dev" in found.version and ".dev" in installer.version()


def start() -> None:
    """Start it if needed, install this build, print the DSN."""
    print(start_database())


def stop() -> None:
    """Stop it; the data stays."""
    if own_dsn():
        fail("PGBATON_DSN names a server of your own, which pgbaton does not stop")
    Server().stop()


def dsn(
    tcp: Annotated[
        bool, typer.Option("--tcp", help="Loopback TCP with a password, as JDBC needs it.")
    ] = False,
) -> None:
    """Print the DSN of the running database."""
    print(own_dsn() or Server().dsn(tcp, DATABASE))


def psql(
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on, after --.")] = None,
) -> None:
    """Start it if needed and open psql."""
    address = start_database()
    bundled = None if own_dsn() else str(Server().bindir / "psql")
    program = bundled if bundled and os.access(bundled, os.X_OK) else shutil.which("psql")
    if program is None:
        fail("no psql found: install postgresql-client, or pgbaton[embedded] which brings one")
    os.execv(program, ["psql", address, *(arguments or [])])


COMMANDS = [start, stop, dsn, psql]
