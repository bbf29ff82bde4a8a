"""Which jobs a command is about: the options of a filter, the same for every command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any, ParamSpec, cast, get_type_hints

import psycopg
import typer

from pgbaton._arguments import JobSearch
from pgbaton._json_text import JsonText, write
from pgbaton.cli._errors import fail, say
from pgbaton.cli._io import confirm, instant, print_done, progress
from pgbaton.cli._payload import parse
from pgbaton.client import Client
from pgbaton.models import FoundJobs, JobActions

P = ParamSpec("P")
STEP = 500
COUNTED = 10_000


def _options(
    queue: Annotated[str | None, typer.Option(help="Of this queue.")] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            help="In this state: waiting, pending, active, retry, unknown_retry, cancelling, failed"
            " (a dead letter), completed, stopped, unscheduled, unknown_stopped or given_up;"
            " repeat the option for any of several."
        ),
    ] = None,
    job_type: Annotated[
        str | None, typer.Option("--type", "--job-type", help="Of this job type.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="With this tag; repeat the option for all of several.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", "--singleton-key", help="Of this singleton_key.")
    ] = None,
    worker: Annotated[str | None, typer.Option(help="Claimed last by this worker.")] = None,
    error: Annotated[str | None, typer.Option(help="Whose last error contains this.")] = None,
    payload: Annotated[
        str | None,
        typer.Option(
            help="""Whose payload contains this: JSON such as '{"order": 17}', or order=17, or"""
            " customer.name=Ann."
        ),
    ] = None,
    created_after: Annotated[
        str | None, typer.Option(help="Enqueued after this, ISO 8601; local time without a zone.")
    ] = None,
    created_before: Annotated[str | None, typer.Option(help="Enqueued before this.")] = None,
    ended_after: Annotated[str | None, typer.Option(help="Ended or failed after this.")] = None,
    ended_before: Annotated[str | None, typer.Option(help="Ended or failed before this.")] = None,
) -> JobSearch:
    wanted = {
        "queue": queue,
        "states": state or None,
        "job_type": job_type,
        "tags": tag or None,
        "singleton_key": key,
        "worker_id": worker,
        "error": error,
        "payload": None if payload is None else contained(payload),
        "created_after": instant(created_after),
        "created_before": instant(created_before),
        "ended_after": instant(ended_after),
        "ended_before": instant(ended_before),
    }
    return cast(JobSearch, {name: value for name, value in wanted.items() if value is not None})


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of a filter; it gets them as its argument `search`."""
    own = {n: p for n, p in _parameters(command).items() if n != "search"}
    ours = _parameters(_options)

    @wraps(command)
    def run(**given: Any) -> None:
        search = _options(**{name: given.pop(name) for name in ours})
        command(**given, search=search)

    first = [p for p in own.values() if p.name not in ("yes", "dsn", "as_json")]
    last = [p for p in own.values() if p.name in ("yes", "dsn", "as_json")]
    parameters = [*first, *ours.values(), *last]
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    return {
        name: parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(function).parameters.items()
    }


def contained(text: str) -> JsonText:
    """JSON, or `path=value`, where the value may be JSON and the path has dots between names."""
    path, equals, value = text.partition("=")
    if not equals or text[:1] in '{["':
        return parse(text, "payload")
    try:
        part = parse(value, "payload")
    except typer.BadParameter:
        part = JsonText(write(value))
    for name in reversed(path.split(".")):
        part = JsonText(f"{{{write(name)}: {part}}}")
    return part


def found(
    client: Client, search: JobSearch, limit: int, after: str | None, oldest_first: bool
) -> FoundJobs:
    """The first jobs that fit, however many the server looks at: it does so step by step."""
    job_ids: list[int] = []
    with progress() as bar:
        task = bar.add_task("looked for", total=limit)
        while True:
            page = client.find_jobs(search, min(limit - len(job_ids), STEP), after, oldest_first)
            job_ids += page.job_ids
            after = page.next_after
            bar.update(task, completed=len(job_ids))
            if after is None or len(job_ids) >= limit:
                return FoundJobs(job_ids, after)


def act(
    client: Client,
    action: str,
    search: JobSearch,
    *,
    what: str,
    reason: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **move: Any,
) -> None:
    """Does one thing with all jobs that fit, step by step: counted before, asked, counted after.

    `what` is the word for what was done, `move` where to.
    """
    if not search.keys() - {"extra_attempts"}:
        raise typer.BadParameter("pass ids, or say which jobs: --queue, --state, --error, …")
    if dry_run or not yes:
        steps = _steps(client, action, search, None, COUNTED, True, move)
        count = sum(step.done for step in steps)
        if dry_run:
            print_done({"jobs": count}, f"would {action} {jobs_text(count)}", as_json)
            return
        if count == 0:
            print_done({what: 0, "passed_over": 0}, "no job fits", as_json)
            return
        confirm(f"{action.capitalize()} {jobs_text(count)}?{_warning(action)}", yes)
    done = passed_over = 0
    with progress() as bar:
        task = bar.add_task(what, total=None)
        try:
            for step in _steps(client, action, search, reason, STEP, False, move):
                done += step.done
                passed_over += step.passed_over
                bar.update(task, completed=done)
        except KeyboardInterrupt:
            fail(f"interrupted: {what} {jobs_text(done)}, the others are as they were")
        except psycopg.Error as error:
            is_lost = error.sqlstate is None or error.sqlstate[:3] in ("080", "57P")
            last = " The step that was under way may have been done, too." if is_lost else ""
            if done or is_lost:
                said = f"{what} {jobs_text(done)} before it failed."
                say(f"{said}{last} The others are as they were.")
            raise
    said = f"{what} {jobs_text(done)}"
    if passed_over:
        said += f"; {passed_over:,} passed over: changed meanwhile, or their policy has no place"
    print_done({what: done, "passed_over": passed_over}, said, as_json)


def jobs_text(count: int) -> str:
    return f"{count:,} job" if count == 1 else f"{count:,} jobs"


def _warning(action: str) -> str:
    return {
        "requeue": " They go to the end of their line and key; retry keeps their place.",
        "erase": " Nothing of them is kept.",
    }.get(action, "")


def _steps(
    client: Client,
    action: str,
    search: JobSearch,
    reason: str | None,
    size: int,
    dry_run: bool,
    move: dict[str, Any],
) -> Iterator[JobActions]:
    """Each is a transaction of its own, so that nobody waits for all of them."""
    after = None
    while True:
        step = client.act_on_jobs(action, search, reason, size, after, dry_run, **move)
        yield step
        if (after := step.next_after) is None:
            return


def say_more(page: FoundJobs) -> None:
    """A list that was cut says so."""
    if page.next_after is not None:
        say(f"there are more; go on with --after {page.next_after}")
