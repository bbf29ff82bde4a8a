"""doctor, stats, blocked, audit."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pgbaton.cli._errors import UNHEALTHY
from pgbaton.cli._hints import in_commands
from pgbaton.cli._io import AsJson, Dsn, MaybeQueue, client_of, out, print_json, print_rows
from pgbaton.cli._text import clean
from pgbaton.models import HealthCheck

BLOCKED_JOBS = [
    "queue",
    "job_id",
    "waits_for",
    "waits_for_queue",
    "state",
    "resolution",
    "blocked_since",
    "last_error",
]
STYLES = {"ok": "green", "warn": "yellow", "bad": "bold red"}


def doctor(
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 3 for a warning, too.")
    ] = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Check server and queues, with advice; exit code 3 when something is bad."""
    with client_of(dsn) as client:
        checks = client.health()
    if as_json:
        print_json(checks)
    else:
        out().print(health_table(checks))
    unhealthy = {"bad", "warn"} if strict else {"bad"}
    if any(check.status in unhealthy for check in checks):
        raise typer.Exit(UNHEALTHY)


def health_table(checks: list[HealthCheck]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for check in checks:
        style = STYLES.get(check.status, "")
        table.add_row(
            Text(check.status, style),
            Text(clean(check.check_name)),
            Text(clean(in_commands(check.detail))),
        )
    return table


def stats(
    queue: MaybeQueue = None,
    keys: Annotated[bool, typer.Option("--keys", help="Each key of the FIFO queues.")] = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """What the jobs of each queue are doing."""
    with client_of(dsn) as client:
        if keys:
            columns = [
                "queue",
                "singleton_key",
                "queue_depth",
                "current_job_id",
                "current_state",
                "current_retry_count",
                "blocked_duration",
                "is_paused",
            ]
            print_rows(client.fifo_stats(queue), columns, as_json, "no keys with jobs")
            return
        rows = client.queue_stats(queue)
    columns = [
        "queue",
        "pending",
        "scheduled",
        "waiting",
        "processing",
        "retrying",
        "dlq",
        "completed",
        "oldest_ready_age",
    ]
    print_rows(rows, columns, as_json, "no queues")


def blocked(
    queue: MaybeQueue = None,
    busy: Annotated[
        bool, typer.Option("--busy", help="Also keys whose job runs or is about to.")
    ] = False,
    jobs: Annotated[
        bool,
        typer.Option("--jobs", help="Instead: jobs that wait for a job that failed or is gone."),
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, help="With --jobs: rows at most.")
    ] = 100,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Keys that are held up: by which job, since when, with what error."""
    if jobs and busy:
        raise typer.BadParameter("--busy is about keys: leave it out, or --jobs")
    with client_of(dsn) as client:
        if jobs:
            waits = client.blocked_jobs(queue, limit)
            print_rows(waits, BLOCKED_JOBS, as_json, "no job waits for one that failed or is gone")
            return
        rows = client.blocked_keys(queue, busy)
    columns = [
        "queue",
        "singleton_key",
        "job_id",
        "state",
        "blocked_since",
        "attempts",
        "waiting_count",
        "next_run_at",
        "last_error",
    ]
    print_rows(rows, columns, as_json, "no key is blocked")


def audit(
    queue: MaybeQueue = None,
    job_id: Annotated[
        int | None,
        typer.Option("--job", help="Only what was done to this job.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Rows at most.")] = 50,
    before_id: Annotated[
        int | None,
        typer.Option(
            "--before", help="Go on below this id, that of the last row.", show_default=False
        ),
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Who did what to queues, keys and jobs, and why; the latest first."""
    with client_of(dsn) as client:
        rows = client.list_audit(queue, job_id, limit, before_id)
    columns = ["id", "at", "actor", "action", "queue", "job_id", "singleton_key", "reason"]
    print_rows(rows, columns, as_json, "nothing was done")
