"""worker, maintain."""

from __future__ import annotations

import importlib
import logging
import random
import sys
import traceback
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import psycopg
import typer

from pgbaton._runtime.patience import passes
from pgbaton.cli._errors import fail, say, sentence
from pgbaton.cli._io import AsJson, Dsn, client_of, print_answer, print_rows
from pgbaton.cli._stop import Stop
from pgbaton.cli._text import clean

if TYPE_CHECKING:
    from pgbaton.worker import Worker


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def run(
    worker: Annotated[str, typer.Argument(metavar="MODULE:WORKER", help="A pgbaton.Worker.")],
    dsn: Annotated[
        str | None,
        typer.Option("--dsn", envvar="PGBATON_DSN", help="Which database; default the worker's."),
    ] = None,
    log: Annotated[
        LogLevel, typer.Option(help="What is noted on stderr: this and what is worse.")
    ] = LogLevel.INFO,
) -> None:
    """Run a worker until SIGTERM or Ctrl-C; a second one ends it at once."""
    logging.basicConfig(
        level=log.value.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    load_worker(worker).run(dsn or None)


def load_worker(name: str) -> Worker:
    """The worker that module:worker names; modules are found from here, as with python -m."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise typer.BadParameter(f"{name!r} is not module:worker")
    sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            fail(f"there is no module {error.name}", "It is looked for from the current directory.")
        broken(module_name)
    except Exception:
        broken(module_name)
    from pgbaton.worker import Worker  # other commands need no event loop

    found = getattr(module, attribute, None)
    if not isinstance(found, Worker):
        fail(f"{name} is {'missing' if found is None else type(found).__name__}, not a Worker")
    return found


def broken(module_name: str) -> NoReturn:
    """A module of the user's own is shown with its traceback."""
    traceback.print_exc()
    fail(f"module {module_name} cannot be imported")


def list_(dsn: Dsn = "", as_json: AsJson = False) -> None:
    """Workers that sent heartbeats or hold jobs."""
    with client_of(dsn) as client:
        rows = client.list_workers()
    columns = [
        "worker_id",
        "running_jobs",
        "capacity",
        "tags",
        "silent_for",
        "asleep_at",
        "started_at",
    ]
    print_rows(rows, columns, as_json, "no workers")


COMMANDS: list[Callable[..., Any]] = [run, list_]


def maintain(
    every: Annotated[
        float | None, typer.Option(min=0.1, help="Again and again, after so many seconds.")
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Run the upkeep that workers do: schedules, retries that are due, ended leases, retention."""
    with client_of(dsn) as client:
        done = client.run_maintenance()
    if every is None:
        print_answer(done, _what(done), as_json)
        return
    stop = Stop()
    _say_what(done)
    if not stop.wait(every):
        _maintain_until(stop, dsn, every)


def _maintain_until(stop: Stop, dsn: str, every: float) -> None:
    """Connects again while the database is away, as a worker does."""
    delay = 0.1
    while not stop.is_asked():
        try:
            with client_of(dsn) as client:
                while not stop.is_asked():
                    _say_what(client.run_maintenance())
                    delay = 0.1
                    stop.wait(every)
        except psycopg.Error as error:
            if not passes(error):
                raise
            say(f"pgbaton: has no database: {clean(sentence(error))}")
            stop.wait(delay * random.uniform(0.5, 1))  # noqa: S311
            delay = min(delay * 2, 10.0)


def _say_what(done: dict[str, Any]) -> None:
    if any(done.values()):
        print(f"{datetime.now():%H:%M:%S} {_what(done)}", flush=True)


def _what(done: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in done.items() if value) or "nothing to do"
