"""enqueue: one job, or many from JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, cast

import psycopg
import typer

from pgbaton._arguments import NewJob, SingleJob, job_list
from pgbaton._json_text import JsonText, read_whole
from pgbaton._text import sentence
from pgbaton.cli._errors import fail, say
from pgbaton.cli._hints import hint_of
from pgbaton.cli._io import (
    AsJson,
    Dsn,
    Queue,
    TextClient,
    client_of,
    instant,
    print_answer,
    print_json,
    progress,
)
from pgbaton.cli._payload import (
    field_text,
    numbered_lines,
    of_line,
    open_lines,
    parse,
    parse_object,
    read_json,
)
from pgbaton.client import Client
from pgbaton.errors import NotPermitted, UnknownQueue
from pgbaton.models import EnqueueOutcome

BATCH = 1000


def enqueue(
    queue: Queue,
    payload: Annotated[
        str | None, typer.Argument(help="JSON, @file, or - for stdin.", show_default="{}")
    ] = None,
    lines: Annotated[
        str | None,
        typer.Option(
            "--lines",
            help="A file (- for stdin) with the payload of a job on each line: all or nothing.",
        ),
    ] = None,
    jobs: Annotated[
        bool,
        typer.Option(
            "--jobs",
            help="Each line is an object with parameters of enqueue_job; these win over options.",
        ),
    ] = False,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", "--singleton-key", help="singleton_key; in a FIFO queue its jobs run in order."
        ),
    ] = None,
    key_field: Annotated[
        str | None, typer.Option(help="The key of each job is this field of its payload.")
    ] = None,
    priority: Annotated[int | None, typer.Option(help="Larger runs first.")] = None,
    job_type: Annotated[
        str | None, typer.Option("--type", "--job-type", help="Workers may ask for it.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Workers may ask for it; repeat the option.")
    ] = None,
    run_at: Annotated[
        str | None,
        typer.Option(
            "--at", "--run-at", help="Run not before this time, ISO 8601; local without a zone."
        ),
    ] = None,
    delay: Annotated[
        str | None, typer.Option(help="Run not before this interval from now.")
    ] = None,
    max_attempts: Annotated[
        int | None, typer.Option(help="Attempts at most, instead of the queue's.")
    ] = None,
    dedup_id: Annotated[str | None, typer.Option(help="Your own id of the job.")] = None,
    after: Annotated[
        list[int] | None,
        typer.Option(
            metavar="JOB", help="Run not before this job has completed; repeat the option."
        ),
    ] = None,
    on_failed: Annotated[
        str | None,
        typer.Option(help="When a job of --after does not complete: wait, cancel or run."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A text that travels with the job; repeat the option."
        ),
    ] = None,
    skip_duplicates: Annotated[
        bool,
        typer.Option("--skip-duplicates", help="For a known job print its id instead of failing."),
    ] = False,
    replace_duplicates: Annotated[
        bool,
        typer.Option(
            "--replace-duplicates",
            help="Take the place of a known job that nobody has claimed, else stand behind it.",
        ),
    ] = False,
    debounce: Annotated[
        str | None,
        typer.Option(help="Run when nothing has replaced the job for so long, for example '5 s'."),
    ] = None,
    max_wait: Annotated[
        str | None,
        typer.Option(
            help="With --debounce: run so long after the first of these jobs at the latest."
        ),
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Add a job and print its id; or many from JSON lines, with an id for each once all are in.

    For a duplicate it prints the id of the earlier job. A line is empty where the policy of the
    queue allows no further job of the key.
    """
    if lines is not None and (payload is not None or dedup_id is not None):
        raise typer.BadParameter("--lines goes with neither a payload nor --dedup-id")
    if jobs and lines is None:
        raise typer.BadParameter("--jobs needs --lines")
    if skip_duplicates and replace_duplicates:
        raise typer.BadParameter("--skip-duplicates does not go with --replace-duplicates")
    on_duplicate = "replace" if replace_duplicates else "skip" if skip_duplicates else None
    given: dict[str, Any] = {
        "priority": priority,
        "singleton_key": key,
        "job_type": job_type,
        "tags": tag,
        "run_at": instant(run_at),
        "delay": delay,
        "max_attempts": max_attempts,
        "dedup_id": dedup_id,
        "on_duplicate": on_duplicate,
        "headers": _headers(header),
        "after": after,
        "on_failed": on_failed,
        "debounce": debounce,
        "max_wait": max_wait,
    }
    options = {name: value for name, value in given.items() if value is not None}
    if lines is None:
        body = JsonText("{}") if payload is None else read_json(payload)
        job = _with_key({"payload": body, **options}, key_field)
        with client_of(dsn) as client:
            job_id = client.enqueue_job(queue, **job)
        print_answer({"job_id": job_id}, job_id, as_json)
        return

    def job_of(line: bytes) -> NewJob:
        text = line.decode().strip(" \t\r\n")
        job = {**options, **(_job(text) if jobs else {"payload": parse(text, "payload")})}
        made = cast(NewJob, _with_key(job, key_field))
        job_list([made])  # raises what the client would, of all lines at once
        return made

    outcomes: list[EnqueueOutcome] = []
    counts: Counter[str] = Counter()
    with psycopg.connect(dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        with connection.transaction():
            for done in _enqueue_lines(connection, queue, lines, job_of):
                counts.update(outcome.outcome for outcome in done)
                outcomes += done
    if as_json:
        print_json(outcomes)
    else:
        for outcome in outcomes:
            print("" if outcome.job_id is None else outcome.job_id)
        say(", ".join(f"{count:,} {what}" for what, count in counts.items()) or "no lines")


def _enqueue_lines(
    connection: psycopg.Connection[Any],
    queue: str,
    path: str,
    job_of: Callable[[bytes], NewJob],
) -> Iterator[list[EnqueueOutcome]]:
    """Enqueues in batches; ordinals count through all of them."""
    total = None if path == "-" else Path(path).stat().st_size
    client = TextClient(connection=connection)
    before = 0
    with open_lines(path) as file, progress() as bar:
        task = bar.add_task("bytes", total=total)
        lines = numbered_lines(file)
        while batch := list(islice(lines, BATCH)):
            jobs = []
            for number, line in batch:
                with of_line(number):
                    jobs.append(job_of(line))
            try:
                with connection.transaction():
                    done = client.enqueue_jobs(queue, jobs)
            except psycopg.Error as error:
                if not _is_of_a_job(error):
                    raise
                place, error = _first_refused(connection, queue, jobs, error)
                fail(f"line {batch[place][0]:,}: {sentence(error)}", hint_of(error))
            yield [replace(one, ordinal=one.ordinal + before) for one in done]
            before += len(batch)
            bar.advance(task, sum(len(line) for _, line in batch))


def _is_of_a_job(error: psycopg.Error) -> bool:
    """Whether another list of jobs might have passed."""
    code = error.sqlstate or ""
    return code[:2] in ("22", "23", "PB") and not isinstance(error, UnknownQueue | NotPermitted)


def _first_refused(
    connection: psycopg.Connection[Any], queue: str, jobs: list[NewJob], error: psycopg.Error
) -> tuple[int, psycopg.Error]:
    """Which of the jobs the server refuses, those before it being there, and why."""
    client = TextClient(connection=connection)
    first, last = 0, len(jobs)
    while last - first > 1:
        middle = (first + last) // 2
        try:
            with connection.transaction():
                client.enqueue_jobs(queue, jobs[first:middle])
            first = middle
        except psycopg.Error as found:
            error, last = found, middle
    return first, _of_one(connection, client, queue, jobs[first], error)


def _of_one(
    connection: psycopg.Connection[Any],
    client: Client,
    queue: str,
    job: NewJob,
    error: psycopg.Error,
) -> psycopg.Error:
    """The same error without the place in a list that nobody has seen."""
    for enqueue_it in (
        lambda: client.enqueue_job(queue, **cast(SingleJob, job)),
        lambda: client.enqueue_jobs(queue, [job]),  # which reads a value of the wrong type, too
    ):
        try:
            with connection.transaction():
                enqueue_it()
        except (TypeError, ValueError):
            continue
        except psycopg.Error as alone:
            if (alone.sqlstate or "")[:2] == (error.sqlstate or "")[:2]:
                return alone
    return error


def _job(text: str) -> dict[str, Any]:
    """The arguments that a line gives; its payload stays as it is written.

    No other argument may hold a number that is not whole, so a float spoils none.
    """
    members = parse_object(text, "line")
    if members is None:
        raise typer.BadParameter('with --jobs each line is an object: {"payload": …}')
    job: dict[str, Any] = {}
    for name, part in members.items():
        if name not in SingleJob.__annotations__:
            raise typer.BadParameter(f"enqueue_job has no parameter {name!r}")
        try:
            job[name] = part if name == "payload" else read_whole(part)
        except ValueError as error:
            raise typer.BadParameter(f"{name}: {str(error).partition(';')[0]}") from error
    if isinstance(after := job.get("after"), list):  # an id may be a text, as in SQL
        job["after"] = [int(i) if isinstance(i, str) and i.isdecimal() else i for i in after]
    run_at = job.get("run_at")
    return job if run_at is None else {**job, "run_at": instant(str(run_at))}


def _headers(given: list[str] | None) -> dict[str, str] | None:
    if given is None:
        return None
    pairs = [header.partition("=") for header in given]
    if not all(equals for _, equals, _ in pairs):
        raise typer.BadParameter("--header is NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _with_key(job: dict[str, Any], field: str | None) -> dict[str, Any]:
    if field is None:
        return job
    return {"singleton_key": field_text(job.get("payload", "{}"), field), **job}
