"""job: look at single jobs and repair them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, cast

import typer

from pgbaton._arguments import JobFilter
from pgbaton.cli._errors import say
from pgbaton.cli._io import (
    AsJson,
    Dsn,
    JobId,
    JobIds,
    Yes,
    client_of,
    confirm,
    instant,
    print_answer,
    print_done,
    print_json,
    print_record,
    transaction_of,
)
from pgbaton.client import Client


def show(job: JobId, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """All that is known of a job."""
    with client_of(dsn) as client:
        print_record(client.get_job(job), as_json)


def why(job: JobId, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """Why a job is not running, and which call helps."""
    with client_of(dsn) as client:
        sentence = client.why_not_running(job)
    print_answer({"job_id": job, "why": sentence}, sentence, as_json)


def retry(
    jobs: Annotated[list[int] | None, typer.Argument(help="Ids of failed jobs.")] = None,
    queue: Annotated[
        str | None, typer.Option(help="Instead of ids: all failed jobs of this queue that fit.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="With --queue: of this key.")] = None,
    job_type: Annotated[
        str | None, typer.Option("--type", help="With --queue: of this type.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="With --queue: with this tag; repeat the option.")
    ] = None,
    error: Annotated[
        str | None, typer.Option(help="With --queue: whose last error contains this.")
    ] = None,
    extra_attempts: Annotated[int, typer.Option(help="Attempts to grant to each.")] = 1,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Run failed jobs again: same id, same place in their key."""
    if (queue is None) == (not jobs):
        raise typer.BadParameter("pass ids, or --queue")
    with transaction_of(dsn) as client:
        if queue is None:
            for job in jobs or []:
                client.retry_job(client.get_job(job).queue, job, extra_attempts)
            count = len(jobs or [])
        else:
            wanted = {
                "singleton_key": key,
                "job_type": job_type,
                "tags": tag,
                "error": error,
                "extra_attempts": extra_attempts,
            }
            fits = {name: value for name, value in wanted.items() if value is not None}
            count = client.retry_jobs(queue, cast(JobFilter, fits))
    print_done({"retried": count}, f"{count:,} jobs run again", as_json)


def skip(
    jobs: JobIds,
    reason: Annotated[str | None, typer.Option(help="For the audit.")] = None,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Give up failed jobs: they go to history, the next jobs of their keys run."""
    confirm(f"Skip {_several(jobs)}?", yes)
    with transaction_of(dsn) as client:
        for job in jobs:
            client.skip_job(client.get_job(job).queue, job, reason)
    print_done({"skipped": len(jobs)}, f"skipped {_several(jobs)}", as_json)


def reschedule(
    jobs: JobIds,
    at: Annotated[
        str | None,
        typer.Option(help="When, ISO 8601; local time without a zone. Default: at once."),
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Move jobs that are not claimed, or wait for their time or a retry, to another time."""
    _move(jobs, dsn, as_json, lambda c, queue, job: c.reschedule_job(queue, job, instant(at)))


def priority(
    jobs: JobIds,
    to: Annotated[int, typer.Option(help="Larger runs first.")],
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Give jobs that are not claimed, or wait for their time or a retry, another priority."""
    _move(jobs, dsn, as_json, lambda c, queue, job: c.change_priority(queue, job, to))


def _move(
    jobs: list[int], dsn: str, as_json: bool, move: Callable[[Client, str, int], str]
) -> None:
    with transaction_of(dsn) as client:
        verdicts = [move(client, client.get_job(job).queue, job) for job in jobs]
    in_line = verdicts.count("in_line")
    said = f"moved {_several(jobs)}"
    if in_line:
        said += f"; {in_line:,} of them stay behind other jobs of their key"
    print_done({"moved": len(jobs), "in_line": in_line}, said, as_json)


def cancel(
    jobs: Annotated[list[int] | None, typer.Argument(help="Ids of the jobs.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Jobs that carry all of these tags.")
    ] = None,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Cancel jobs: those that run are asked to stop and keep their key until they did."""
    if not jobs and not tag:
        raise typer.BadParameter("pass ids, or --tag")
    named = [_several(jobs)] if jobs else []
    tagged = [f"all jobs with {', '.join(tag)}"] if tag else []
    confirm(f"Cancel {' and '.join(named + tagged)}?", yes)
    with client_of(dsn) as client:
        outcome = client.cancel_jobs(tag, jobs)
    if as_json:
        print_json(outcome)
        return
    say(f"{len(outcome.cancelled_job_ids):,} cancelled")
    if outcome.unknown_job_ids:
        say(f"unknown, failed or ended: {', '.join(map(str, outcome.unknown_job_ids))}")


def delete(
    jobs: JobIds,
    for_good: Annotated[
        bool,
        typer.Option("--for-good", help="Ended and failed jobs, with all that is known of them."),
    ] = False,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Take jobs that do not run out of their queue; they stay in its history."""
    confirm(f"Delete {_several(jobs)}{' for good' if for_good else ''}?", yes)
    with transaction_of(dsn) as client:
        if for_good:
            count = client.delete_jobs(job_ids=jobs)
        else:
            for job in jobs:
                client.delete_job(client.get_job(job).queue, job)
            count = len(jobs)
    print_done({"deleted": count}, f"{count:,} jobs deleted", as_json)


def _several(jobs: list[int]) -> str:
    if len(jobs) > 5:
        return f"{len(jobs):,} jobs"
    return f"{'job' if len(jobs) == 1 else 'jobs'} {', '.join(map(str, jobs))}"


COMMANDS: list[Callable[..., Any]] = [
    show,
    why,
    retry,
    skip,
    reschedule,
    priority,
    cancel,
    delete,
]
