"""job: look at single jobs and repair them."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent
from typing import Annotated, Any, TypeAlias

import typer

from pgbaton._arguments import JobSearch
from pgbaton._text import plain
from pgbaton.cli._errors import say
from pgbaton.cli._filters import act, filtered, found, jobs_text, say_more
from pgbaton.cli._hints import in_commands
from pgbaton.cli._io import (
    AsJson,
    Dsn,
    JobId,
    Yes,
    client_of,
    confirm,
    instant,
    print_answer,
    print_done,
    print_json,
    print_record,
    print_rows,
    transaction_of,
)
from pgbaton.cli._text import clean, duration, when
from pgbaton.client import Client
from pgbaton.models import JobAttempt, JobDependency, elapsed

LIST_COLUMNS = [
    "id",
    "queue",
    "singleton_key",
    "job_type",
    "state",
    "attempt",
    "created_at",
    "ended_at",
    "error_message",
]


@filtered
def list_(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Jobs at most.")] = 50,
    after: Annotated[
        str | None,
        typer.Option(help="Go on where the list before this one ended, with the same filter."),
    ] = None,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="The oldest first, instead of the latest.")
    ] = False,
    *,
    search: JobSearch,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Jobs, live and ended, that fit a filter."""
    with client_of(dsn) as client:
        page = found(client, search, limit, after, oldest_first)
        jobs = client.list_jobs(page.job_ids)
    if as_json:
        print_json({"jobs": jobs, "next_after": page.next_after})
        return
    print_rows(jobs, LIST_COLUMNS, as_json, "no job fits")
    say_more(page)


def show(
    job: JobId,
    attempts: Annotated[int, typer.Option(min=0, max=1000, help="The last so many.")] = 20,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """All that is known of a job: its attempts, what it waits for, and who waits for it."""
    with client_of(dsn) as client:
        info = client.get_job(job)
        tried = client.job_attempts(job, attempts) if attempts else []
        others = client.job_dependencies(job)
    if as_json:
        print_json({**plain(info), "attempts": tried, "dependencies": others})
        return
    print_record(info, as_json)
    for other in others:
        print(clean(dependency_text(job, other)))
    for attempt in tried:
        print_attempt(attempt)


def print_attempt(attempt: JobAttempt) -> None:
    """One attempt: a line, and below it what went wrong, whole."""
    claimed_at, ended_at = attempt.claimed_at, attempt.ended_at
    took = elapsed(claimed_at, ended_at) if claimed_at and ended_at else None
    words = [
        f"attempt {attempt.attempt}: {attempt.outcome}",
        when(ended_at or claimed_at),
        f"after {duration(took)}" if took is not None else "",
        f"by {attempt.worker_id}" if attempt.worker_id else "",
    ]
    print()
    print(clean(", ".join(word for word in words if word)))
    for text in (attempt.error_message, attempt.error_stack):
        if text:
            print(clean(indent(text.rstrip(), "  ")))


def dependency_text(job: int, dependency: JobDependency) -> str:
    """What one job has to do with another one, in a line."""
    verb = "waited for" if dependency.is_settled else "waits for"
    known = [dependency.queue, dependency.resolution or dependency.state or "gone"]
    said = f"({', '.join(word for word in known if word)})"
    if dependency.job_id == job:
        return f"{verb} job {dependency.waits_for} {said}"
    return f"job {dependency.job_id} {said} {verb} it"


def why(job: JobId, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """Why a job is not running, and which command helps."""
    with client_of(dsn) as client:
        sentence = client.why_not_running(job)
    print_answer({"job_id": job, "why": sentence}, in_commands(sentence), as_json)


Ids: TypeAlias = Annotated[
    list[int] | None, typer.Argument(help="Ids of the jobs; instead of them a filter.")
]
Reason: TypeAlias = Annotated[str | None, typer.Option(help="With a filter: for the audit.")]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="With a filter: only say how many jobs fit.")
]


def needs_one(
    jobs: list[int] | None, search: JobSearch, dry_run: bool, reason: str | None = None
) -> None:
    """Ids or a filter; a dry run of a filter, and a reason where the audit has a place for it."""
    if bool(jobs) == bool(search):
        raise typer.BadParameter("pass ids, or say which jobs: --queue, --state, --error, …")
    if jobs and dry_run:
        raise typer.BadParameter("--dry-run goes with a filter: ids are counted already")
    if jobs and reason is not None:
        raise typer.BadParameter("--reason goes with a filter, and with the ids of job skip")


@filtered
def retry(
    jobs: Ids = None,
    extra_attempts: Annotated[int, typer.Option(help="Attempts to grant to each.")] = 1,
    reason: Reason = None,
    dry_run: DryRun = False,
    *,
    search: JobSearch,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Run failed jobs again: same id, same place in their key."""
    needs_one(jobs, search, dry_run, reason)
    if jobs:
        with transaction_of(dsn) as client:
            for job in jobs:
                client.retry_job(client.get_job(job).queue, job, extra_attempts)
        print_done({"retried": len(jobs)}, f"retried {_several(jobs)}", as_json)
        return
    with client_of(dsn) as client:
        act(client, "retry", {**search, "extra_attempts": extra_attempts}, what="retried",
            reason=reason, dry_run=dry_run, yes=True, as_json=as_json)  # fmt: skip


@filtered
def skip(
    jobs: Ids = None,
    reason: Annotated[str | None, typer.Option(help="For the audit.")] = None,
    dry_run: DryRun = False,
    *,
    search: JobSearch,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Give up failed jobs: they go to history, the next jobs of their keys run."""
    needs_one(jobs, search, dry_run)
    if jobs:
        confirm(f"Skip {_several(jobs)}?", yes)
        with transaction_of(dsn) as client:
            for job in jobs:
                client.skip_job(client.get_job(job).queue, job, reason)
        print_done({"skipped": len(jobs)}, f"skipped {_several(jobs)}", as_json)
        return
    with client_of(dsn) as client:
        act(client, "skip", search, what="skipped", reason=reason, dry_run=dry_run, yes=yes,
            as_json=as_json)  # fmt: skip


@filtered
def reschedule(
    jobs: Ids = None,
    at: Annotated[
        str | None,
        typer.Option(help="When, ISO 8601; local time without a zone. Default: at once."),
    ] = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    *,
    search: JobSearch,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Move jobs that nobody has claimed, or that wait for their time or a retry."""
    needs_one(jobs, search, dry_run, reason)
    run_at = instant(at)
    if jobs:
        _move(jobs, dsn, as_json, lambda c, queue, job: c.reschedule_job(queue, job, run_at))
        return
    with client_of(dsn) as client:
        act(client, "reschedule", search, what="moved", reason=reason, dry_run=dry_run, yes=yes,
            as_json=as_json, run_at=run_at)  # fmt: skip


@filtered
def priority(
    jobs: Ids = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    *,
    to: Annotated[int, typer.Option(help="Larger runs first.")],
    search: JobSearch,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Change the priority of jobs that nobody has claimed, or that wait for time or retry."""
    needs_one(jobs, search, dry_run, reason)
    if jobs:
        _move(jobs, dsn, as_json, lambda c, queue, job: c.change_priority(queue, job, to))
        return
    with client_of(dsn) as client:
        act(client, "prioritize", search, what="moved", reason=reason, dry_run=dry_run, yes=yes,
            as_json=as_json, priority=to)  # fmt: skip


def _move(
    jobs: list[int], dsn: str, as_json: bool, move: Callable[[Client, str, int], str]
) -> None:
    with transaction_of(dsn) as client:
        verdicts = [move(client, client.get_job(job).queue, job) for job in jobs]
    in_line = verdicts.count("in_line")
    said = f"moved {_several(jobs)}"
    if in_line:
        said += f"; {in_line:,} of them stay behind other jobs"
    print_done({"moved": len(jobs), "in_line": in_line}, said, as_json)


def stop_waiting(
    jobs: Annotated[list[int], typer.Argument(help="Ids of the jobs.")],
    reason: Annotated[str | None, typer.Option(help="For the audit.")] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Let jobs run that wait for others, as if all of those had completed."""
    with transaction_of(dsn) as client:
        for job in jobs:
            client.stop_waiting(client.get_job(job).queue, job, reason)
    verb = "waits" if len(jobs) == 1 else "wait"
    print_done({"let_go": len(jobs)}, f"{_several(jobs)} {verb} for no other job now", as_json)


@filtered
def cancel(
    jobs: Ids = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    *,
    search: JobSearch,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Cancel jobs: those that run are asked to stop, and keep their key until they have."""
    needs_one(jobs, search, dry_run, reason)
    if not jobs:
        with client_of(dsn) as client:
            act(client, "cancel", search, what="cancelled", reason=reason, dry_run=dry_run,
                yes=yes, as_json=as_json)  # fmt: skip
        return
    confirm(f"Cancel {_several(jobs)}?", yes)
    with client_of(dsn) as client:
        outcome = client.cancel_jobs(job_ids=jobs)
    if as_json:
        print_json(outcome)
        return
    say(f"{len(outcome.cancelled_job_ids):,} cancelled")
    if outcome.unknown_job_ids:
        say(f"unknown, failed or ended: {', '.join(map(str, outcome.unknown_job_ids))}")


@filtered
def delete(
    jobs: Ids = None,
    for_good: Annotated[
        bool,
        typer.Option(
            "--for-good", help="Remove ended and failed jobs, with all that is known of them."
        ),
    ] = False,
    reason: Reason = None,
    dry_run: DryRun = False,
    *,
    search: JobSearch,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Take jobs that do not run out of their queue; they stay in its history."""
    needs_one(jobs, search, dry_run, reason)
    if not jobs:
        with client_of(dsn) as client:
            act(client, "erase" if for_good else "delete", search, what="deleted", reason=reason,
                dry_run=dry_run, yes=yes, as_json=as_json)  # fmt: skip
        return
    confirm(f"Delete {_several(jobs)}{' for good' if for_good else ''}?", yes)
    with transaction_of(dsn) as client:
        if for_good:
            count = client.delete_jobs(job_ids=jobs)
        else:
            for job in jobs:
                client.delete_job(client.get_job(job).queue, job)
            count = len(jobs)
    print_done({"deleted": count}, f"deleted {jobs_text(count)}", as_json)


def _several(jobs: list[int]) -> str:
    if len(jobs) > 5:
        return f"{len(jobs):,} jobs"
    return f"{'job' if len(jobs) == 1 else 'jobs'} {', '.join(map(str, jobs))}"


COMMANDS: list[Callable[..., Any]] = [
    list_,
    show,
    why,
    retry,
    skip,
    reschedule,
    priority,
    stop_waiting,
    cancel,
    delete,
]
