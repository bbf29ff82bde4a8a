"""dlq: jobs that have failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from pgbaton._arguments import JobSearch
from pgbaton.cli._filters import act, filtered
from pgbaton.cli._io import (
    AsJson,
    Dsn,
    JobId,
    MaybeQueue,
    Yes,
    client_of,
    confirm,
    print_done,
    print_json,
    print_record,
    print_rows,
    transaction_of,
)
from pgbaton.cli._jobs import DryRun, Ids, Reason, needs_one


def list_(
    queue: MaybeQueue = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows at most.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Rows to skip.")] = 0,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """The dead letters, the latest first."""
    with client_of(dsn) as client:
        rows = client.list_dead_jobs(queue, limit, offset)
    columns = [
        "id",
        "queue",
        "singleton_key",
        "job_type",
        "attempts",
        "failed_at",
        "holds_key",
        "error_message",
    ]
    print_rows(rows, columns, as_json, "no dead letters")


def show(job: JobId, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """One dead letter with its payload and error."""
    with client_of(dsn) as client:
        print_record(client.get_dead_job(job), as_json)


@filtered
def requeue(
    jobs: Ids = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    *,
    search: JobSearch,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Enqueue failed jobs anew, at the end of their line; job retry keeps id and place instead."""
    needs_one(jobs, search, dry_run, reason)
    if not jobs:
        with client_of(dsn) as client:
            act(client, "requeue", search, what="requeued", reason=reason, dry_run=dry_run,
                yes=yes, as_json=as_json)  # fmt: skip
        return
    with transaction_of(dsn) as client:
        done = [{"job_id": job, "new_job_id": client.requeue_dead_job(job)} for job in jobs]
    if as_json:
        print_json(done)
    else:
        for one in done:
            print(one["new_job_id"])


def purge(
    queue: MaybeQueue = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also those that hold a key, which then goes on.")
    ] = False,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Give up the dead letters of a queue, or of all; they go to history as purged."""
    where = "all queues" if queue is None else f"queue {queue}"
    confirm(f"Purge the dead letters of {where}?", yes)
    with client_of(dsn) as client:
        count = client.purge_dead_jobs(queue, force)
    print_done({"purged": count}, f"{count:,} purged", as_json)


COMMANDS: list[Callable[..., Any]] = [list_, show, requeue, purge]
