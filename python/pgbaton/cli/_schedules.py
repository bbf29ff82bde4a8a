"""schedule: jobs at the times of a cron expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import typer

from pgbaton.cli._errors import fail
from pgbaton.cli._io import (
    AsJson,
    Dsn,
    Queue,
    Yes,
    client_of,
    confirm,
    print_answer,
    print_done,
    print_rows,
)
from pgbaton.cli._payload import read_json
from pgbaton.cli._text import when

Name: TypeAlias = Annotated[str, typer.Argument(help="Name of the schedule.")]


def create(
    name: Name,
    queue: Queue,
    cron: Annotated[str, typer.Argument(help="'minute hour day month weekday'.")],
    payload: Annotated[
        str | None, typer.Argument(help="JSON, @file, or - for stdin.", show_default="{}")
    ] = None,
    time_zone: Annotated[str, typer.Option(help="For example Europe/Berlin.")] = "UTC",
    missed_runs: Annotated[
        str,
        typer.Option(
            "--missed",
            "--missed-runs",
            help="For times that passed: one job (coalesce), none (skip) or one each (all).",
        ),
    ] = "coalesce",
    priority: Annotated[int | None, typer.Option(help="Larger runs first.")] = None,
    key: Annotated[
        str | None, typer.Option("--key", "--singleton-key", help="singleton_key of the jobs.")
    ] = None,
    job_type: Annotated[
        str | None, typer.Option("--type", "--job-type", help="Workers may ask for it.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Repeat the option.")] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Make a schedule, or replace the one of that name."""
    with client_of(dsn) as client:
        first = client.create_schedule(
            name,
            queue,
            cron,
            time_zone=time_zone,
            payload={} if payload is None else read_json(payload),
            priority=priority,
            singleton_key=key,
            job_type=job_type,
            tags=tag,
            missed_runs=missed_runs,
        )
    print_done({"name": name, "next_run_at": first}, f"{name} runs {when(first)}: {first}", as_json)


def list_(dsn: Dsn = "", as_json: AsJson = False) -> None:
    """All schedules: when each runs next and what it did last."""
    with client_of(dsn) as client:
        rows = client.list_schedules()
    columns = [
        "name",
        "queue",
        "cron",
        "time_zone",
        "is_paused",
        "next_run_at",
        "last_run_at",
        "last_job_id",
        "last_error",
    ]
    print_rows(rows, columns, as_json, "no schedules")


def enable(name: Name, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """Let a disabled schedule go on; what it missed is not made up for."""
    _pause(name, dsn, as_json, paused=False)


def disable(name: Name, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """Enqueue nothing until it is enabled."""
    _pause(name, dsn, as_json, paused=True)


def _pause(name: str, dsn: str, as_json: bool, paused: bool) -> None:
    with client_of(dsn) as client:
        next_run_at = client.pause_schedule(name, paused)
    said = f"{name} is disabled" if paused else f"{name} runs {when(next_run_at)}: {next_run_at}"
    print_done({"name": name, "next_run_at": next_run_at}, said, as_json)


def delete(name: Name, yes: Yes = False, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """End a schedule; jobs that it enqueued stay."""
    confirm(f"Delete schedule {name}?", yes)
    with client_of(dsn) as client:
        if not client.drop_schedule(name):
            fail(f"there is no schedule {name}", "pgbaton schedule list shows those there are.")
    print_done({"name": name}, f"schedule {name} is gone", as_json)


def run(name: Name, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """Enqueue its job now, whatever its times are, and print the id."""
    with client_of(dsn) as client:
        job_id = client.run_schedule(name)
    print_answer({"name": name, "job_id": job_id}, job_id, as_json)


COMMANDS: list[Callable[..., Any]] = [create, list_, enable, disable, delete, run]
