"""All commands put together, in the order in which help lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from pgbaton.cli import (
    _database,
    _dead,
    _enqueue,
    _jobs,
    _metrics,
    _queues,
    _report,
    _schedules,
    _serve,
    _setup,
    _top,
    _watch,
    _workers,
)
from pgbaton.cli._errors import one_sentence_errors
from pgbaton.cli._text import escape_on_stdout

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
COMMANDS: list[Callable[..., None]] = [
    _setup.version,
    _setup.install,
    _setup.upgrade,
    _watch.doctor,
    _watch.stats,
    _watch.blocked,
    _watch.audit,
    _top.top,
    _report.report,
    _enqueue.enqueue,
    _workers.maintain,
    _metrics.metrics,
    _serve.serve,
    _setup.spark_zip,
    _setup.demo,
]
GROUPS: dict[str, tuple[str, list[Callable[..., None]]]] = {
    "queue": ("Make and manage queues.", _queues.COMMANDS),
    "job": ("Look at single jobs and repair them.", _jobs.COMMANDS),
    "dlq": ("Dead letters: jobs that have failed.", _dead.COMMANDS),
    "schedule": ("Jobs at the times of a cron expression.", _schedules.COMMANDS),
    "worker": ("Run workers and see them.", _workers.COMMANDS),
    "db": ("The embedded database, or the server that PGBATON_DSN names.", _database.COMMANDS),
}


def _print_version(wanted: bool) -> None:
    if wanted:
        _setup.version()
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """A job queue inside PostgreSQL."""
    escape_on_stdout()


def name_of(command: Callable[..., None]) -> str:
    """The word for a command; functions that would hide a builtin have an underscore more."""
    return command.__name__.rstrip("_").replace("_", "-")


def _add(to: typer.Typer, commands: list[Callable[..., None]]) -> None:
    for command in commands:
        to.command(name_of(command))(one_sentence_errors(command))


_add(app, COMMANDS)
for _name, (_help, _commands) in GROUPS.items():
    _group = typer.Typer(help=_help, no_args_is_help=True)
    _add(_group, _commands)
    app.add_typer(_group, name=_name)
