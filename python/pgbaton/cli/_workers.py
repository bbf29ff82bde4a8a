"""worker, maintain."""

from __future__ import annotations

import importlib
import logging
import os
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import psycopg
import typer

from pgbaton._runtime.patience import is_tie, passes
from pgbaton._text import sentence
from pgbaton.cli._errors import FAILED, fail, hint_at_database, say
from pgbaton.cli._io import AsJson, Dsn, client_of, print_answer, print_rows
from pgbaton.cli._stop import Stop
from pgbaton.cli._text import clean

if TYPE_CHECKING:
    from pgbaton.worker import Worker


PATIENCE = 10
"""Seconds for which maintain waits for its last call once it is told to end."""


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def run(
    worker: Annotated[str, typer.Argument(metavar="MODULE:WORKER", help="A pgbaton.Worker.")],
    dsn: Annotated[
        str | None,
        typer.Option(
            "--dsn", envvar="PGBATON_DSN", help="Which database; without it that of the worker."
        ),
    ] = None,
    burst: Annotated[
        bool,
        typer.Option(
            "--burst", help="End when there is nothing to do; exit with 1 if a job failed for good."
        ),
    ] = False,
    health: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Answer /healthz and /readyz there; :PORT is on all addresses.",
        ),
    ] = None,
    log: Annotated[
        LogLevel, typer.Option(help="The least level that is logged to stderr.")
    ] = LogLevel.INFO,
) -> None:
    """Run a worker until SIGTERM or Ctrl-C; a second one ends it at once."""
    logging.basicConfig(
        level=log.value.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    found = load_worker(worker)
    with hint_at_database(dsn or found._dsn):
        counts = found.run(dsn or None, burst=burst, health=health)
    if burst:
        said = " ".join(f"{name} {value}" for name, value in asdict(counts).items() if value)
        say(said or "nothing to do")
        raise typer.Exit(FAILED if counts.failed else 0)


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
        float | None, typer.Option(min=0.1, help="Run it again and again, so many seconds apart.")
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Run the upkeep that workers do: schedules, retries that are due, ended leases, retention."""
    if every is None:
        with client_of(dsn) as client:
            done = client.run_maintenance()
        print_answer(done, _what(done), as_json)
        return
    stop = Stop()  # first of all: whoever reads what was done may end it at once
    threading.Thread(target=_end_in_time, args=[stop], daemon=True).start()
    with client_of(dsn) as client:  # missing rights end it; a server may not be there yet
        try:
            _say_what(client.run_maintenance())
        except psycopg.Error as error:
            if not passes(error):
                raise
            _say_why(error)
    _maintain_until(stop, dsn, every)


def _maintain_until(stop: Stop, dsn: str, every: float) -> None:
    """Goes on whatever the database says, and connects again while it is away or only reads."""
    delay = 0.1
    stop.wait(every)
    while not stop.is_asked():
        try:
            with client_of(dsn) as client:
                while not stop.is_asked():
                    _say_what(client.run_maintenance())
                    delay = 0.1
                    stop.wait(every)
        except psycopg.Error as error:
            _say_why(error)
            stop.wait(delay * random.uniform(0.5, 1))  # noqa: S311
            delay = min(delay * 2, 10.0)


def _end_in_time(stop: Stop) -> None:
    """A call that does not come back keeps nobody waiting: what it had done is undone, or done."""
    stop.wait()
    time.sleep(PATIENCE)
    say("pgbaton: ends without an answer to its last call")
    os._exit(FAILED)


def _say_why(error: psycopg.Error) -> None:
    is_away = passes(error) and not is_tie(error)
    what = "has no database" if is_away else "run_maintenance failed"
    say(f"pgbaton: {what}: {clean(sentence(error))}")


def _say_what(done: dict[str, Any]) -> None:
    if any(done.values()):
        print(f"{datetime.now():%H:%M:%S} {_what(done)}", flush=True)


def _what(done: dict[str, Any]) -> str:
    failed = [f"{name} failed ({clean(why)})" for name, why in done.get("failed", {}).items()]
    did = [f"{name} {value}" for name, value in done.items() if value and name != "failed"]
    return ", ".join(did + failed) or "nothing to do"
