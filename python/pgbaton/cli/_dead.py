"""dlq: jobs that have failed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer

from pgbaton.cli._errors import say
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
    progress,
    transaction_of,
)
from pgbaton.client import Client
from pgbaton.errors import InvalidState, UnknownJob


def list_(
    queue: MaybeQueue = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows at most.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Rows to pass over.")] = 0,
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


def requeue(
    jobs: Annotated[list[int] | None, typer.Argument(help="Ids of failed jobs.")] = None,
    queue: Annotated[
        str | None, typer.Option(help="Instead of ids: all dead letters of this queue.")
    ] = None,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Enqueue failed jobs anew, at the end of their line; job retry keeps id and place instead."""
    if (queue is None) == (not jobs):
        raise typer.BadParameter("pass ids, or --queue")
    if jobs:
        with transaction_of(dsn) as client:
            done = [_requeued(client, job) for job in jobs]
        for one in done if not as_json else []:
            print(one["new_job_id"])
    else:
        with client_of(dsn) as client:
            done = _requeue_all(client, str(queue), yes)
        if not as_json:
            say(f"{len(done):,} requeued")
    if as_json:
        print_json(done)


def _requeued(client: Client, job: int) -> dict[str, int]:
    return {"job_id": job, "new_job_id": client.requeue_dead_job(job)}


def _requeue_all(client: Client, queue: str, yes: bool) -> list[dict[str, int]]:
    """One by one, so that nobody waits for all of them; those that others took meanwhile stay."""
    ids = _all_of(client, queue)
    confirm(f"Requeue all {len(ids):,} dead letters of queue {queue}?", yes)
    done = []
    with progress() as bar:
        for job in bar.track(ids, description="requeued"):
            with suppress(UnknownJob, InvalidState):
                done.append(_requeued(client, job))
    return done


def _all_of(client: Client, queue: str) -> list[int]:
    """The oldest first, so that they keep their order."""
    ids: list[int] = []
    while rows := client.list_dead_jobs(queue, 1000, len(ids)):
        ids += [row.id for row in rows]
    return ids[::-1]


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
