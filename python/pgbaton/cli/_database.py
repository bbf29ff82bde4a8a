"""db: the embedded database for development."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import Annotated, Any

import psycopg
import typer
from psycopg import sql

from pgbaton import install as installer
from pgbaton.cli._errors import fail, say
from pgbaton.cli._io import Yes, confirm
from pgbaton.cli._setup import note_outcome
from pgbaton.embedded import Server

DATABASE = "pgbaton"
TABLES = (("queue", "queue"), ("job", "job"), ("kv", "value"))


def own_dsn() -> str | None:
    """The server of the user's own, if one is named."""
    return os.environ.get("PGBATON_DSN") or None


def start_server() -> str:
    """Starts the embedded server if it is needed, makes its database, returns the DSN."""
    if dsn := own_dsn():
        return dsn
    server = Server()
    if not server.is_running():
        say(f"starting PostgreSQL {server.major} from {server.bindir}")
    server.start()
    create_database(server.dsn())
    return server.dsn(dbname=DATABASE)


def create_database(maintenance_dsn: str) -> None:
    with psycopg.connect(maintenance_dsn, autocommit=True) as conn:
        if not conn.execute("select from pg_database where datname = %s", [DATABASE]).fetchall():
            # Another process may be faster; what matters is that the database is there.
            with suppress(psycopg.errors.DuplicateDatabase):
                conn.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))


def is_another_build(conn: psycopg.Connection[Any]) -> bool:
    """Whether it is one that no upgrade begins with: of development, or of this same version."""
    found = installer.installed(conn)
    if found is None or found.is_extension or found.build == installer.build():
        return False
    return ".dev" in found.version or found.version == installer.version()


def contents(conn: psycopg.Connection[Any]) -> str | None:
    """What another build holds that would be lost with it; None if nothing."""
    counts = []
    for table, word in TABLES:
        count = sql.SQL("select count(*) from pgbaton.{}").format(sql.Identifier(table))
        try:
            with conn.transaction():
                [(number,)] = conn.execute(count).fetchall()
        except psycopg.errors.UndefinedTable:
            return "what only it can read"
        if number:
            counts.append(f"{number:,} {word}{'s' if number > 1 else ''}")
    return " and ".join(counts) or None


def install_build(dsn: str, replace: bool) -> None:
    """Installs this build; over another one only if that is empty, or if told to."""
    if own_dsn():
        note_outcome(installer.install(dsn))
        return
    with psycopg.connect(dsn, autocommit=True) as conn:
        is_another = is_another_build(conn)
        held = contents(conn) if is_another else None
    if held and not replace:
        fail(
            f"another build is installed, with {held}; there is no upgrade to this one",
            "pgbaton db start --replace drops it with all of that and installs this build; "
            "pgbaton db psql opens it as it is.",
        )
    note_outcome(installer.install(dsn, replace=is_another))


def start(
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Drop another build with its jobs first."),
    ] = False,
    yes: Yes = False,
) -> None:
    """Start it if needed, install this build, print the DSN.

    Another build stays if it holds queues or jobs, unless --replace is given. An earlier release
    stays too, and `pgbaton upgrade` keeps its jobs.
    """
    if replace and own_dsn():
        fail(
            "PGBATON_DSN names a server of your own, where this command drops nothing",
            "pgbaton install --replace does.",
        )
    if replace:
        confirm("Drop another build with all its jobs?", yes)
    dsn = start_server()
    install_build(dsn, replace)
    print(dsn)


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
    """Start it if needed and open psql; another build or release stays as it is."""
    address = start_server()
    with psycopg.connect(address, autocommit=True) as conn:
        is_another = not own_dsn() and is_another_build(conn)
    if is_another:
        say("another build is installed: pgbaton db start says what to do")
    else:
        try:
            install_build(address, replace=False)
        except installer.InstallError as error:  # another release, which is no reason not to look
            say(str(error))
    bundled = None if own_dsn() else str(Server().bindir / "psql")
    program = bundled if bundled and os.access(bundled, os.X_OK) else shutil.which("psql")
    if program is None:
        fail("no psql found: install postgresql-client, or pgbaton[embedded] which brings one")
    os.execv(program, ["psql", address, *(arguments or [])])


COMMANDS = [start, stop, dsn, psql]
