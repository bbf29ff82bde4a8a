"""The command pgbaton."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Annotated, NoReturn, ParamSpec

import psycopg
import typer
from psycopg import sql
from rich.console import Console

from pgbaton import install as installer
from pgbaton._assemble import SourceError
from pgbaton.embedded import Server, ServerError

DATABASE = "pgbaton"
P = ParamSpec("P")

app = typer.Typer(
    help="A job queue inside PostgreSQL.", no_args_is_help=True, pretty_exceptions_enable=False
)
db = typer.Typer(
    help="The embedded database, or the server that PGBATON_DSN names.", no_args_is_help=True
)
app.add_typer(db, name="db")
notes = Console(stderr=True, highlight=False, soft_wrap=True)


def one_sentence_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turns the errors a user can cause into one line on stderr and exit code 1."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (ServerError, installer.InstallError, SourceError) as error:
            fail(str(error))
        except psycopg.Error as error:
            hint = f" ({error.diag.message_hint})" if error.diag.message_hint else ""
            fail((error.diag.message_primary or str(error).splitlines()[0]) + hint)

    return run


def fail(message: str) -> NoReturn:
    notes.print(f"pgbaton: {message}", style="red", markup=False)
    raise typer.Exit(1)


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
        notes.print(f"starting PostgreSQL {server.major} from {server.bindir}", markup=False)
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


def note_outcome(outcome: installer.Outcome) -> None:
    said = {
        "installed": f"installed pgbaton {installer.version()}",
        "unchanged": f"pgbaton {installer.version()} is installed already",
        "upgraded": f"upgraded to pgbaton {installer.version()}",
        "replaced": f"dropped pgbaton with all its jobs, installed {installer.version()}",
    }
    notes.print(said[outcome], markup=False)


@app.command()
@one_sentence_errors
def version() -> None:
    """Print the version."""
    print(installer.version())


@app.command()
@one_sentence_errors
def install(
    dsn: Annotated[str, typer.Option(envvar="PGBATON_DSN", help="Where to install.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Drop the schema pgbaton with all its jobs first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before dropping.")] = False,
) -> None:
    """Install the schema pgbaton in one transaction."""
    if replace and not yes and not typer.confirm("Drop the schema pgbaton with all its jobs?"):
        fail("nothing was changed")
    note_outcome(installer.install(dsn, replace=replace))


@app.command()
@one_sentence_errors
def upgrade(
    dsn: Annotated[str, typer.Option(envvar="PGBATON_DSN", help="What to upgrade.")],
) -> None:
    """Bring an earlier release to this version in one transaction; jobs stay."""
    note_outcome(installer.upgrade(dsn))


@db.command()
@one_sentence_errors
def start() -> None:
    """Start it if needed, install this build, print the DSN."""
    print(start_database())


@db.command()
@one_sentence_errors
def stop() -> None:
    """Stop it; the data stays."""
    if own_dsn():
        fail("PGBATON_DSN names a server of your own, which pgbaton does not stop")
    Server().stop()


@db.command()
@one_sentence_errors
def dsn(
    tcp: Annotated[
        bool, typer.Option("--tcp", help="Loopback TCP with a password, as JDBC needs it.")
    ] = False,
) -> None:
    """Print the DSN of the running database."""
    print(own_dsn() or Server().dsn(tcp, DATABASE))


@db.command()
@one_sentence_errors
def psql(
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on, after --.")] = None,
) -> None:
    """Start it if needed and open psql."""
    address = start_database()
    bundled = None if own_dsn() else str(Server().bindir / "psql")
    program = bundled if bundled and os.access(bundled, os.X_OK) else shutil.which("psql")
    if program is None:
        fail("no psql found: install postgresql-client, or pgbaton[embedded] which brings one")
    else:
        os.execv(program, ["psql", address, *(arguments or [])])


@app.command()
@one_sentence_errors
def demo(
    sample: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many of the 336,776 flights.")
    ] = None,
) -> None:
    """Push a year of flights through Spark and the queue, in a database made anew: pgbaton_demo."""
    try:
        from pgbaton.demo import Stuck
        from pgbaton.demo.run import run
    except ModuleNotFoundError as error:
        fail(f"the demo needs {error.name}: pip install 'pgbaton[demo]'")
    try:
        passed = run(sample)
    except Stuck as error:
        fail(str(error))
    raise typer.Exit(0 if passed else 1)


if __name__ == "__main__":
    app()
