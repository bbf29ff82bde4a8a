"""queue: make and manage queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import typer

from pgbaton._arguments import DEFAULT
from pgbaton.cli._errors import fail
from pgbaton.cli._io import (
    AsJson,
    Dsn,
    MaybeQueue,
    Queue,
    Yes,
    client_of,
    confirm,
    print_done,
    print_record,
    print_rows,
)
from pgbaton.models import OnExhausted, QueueInfo, QueuePolicy

Policy: TypeAlias = Annotated[
    QueuePolicy | None,
    typer.Option(help="What jobs of one key may do side by side.", show_default=False),
]
Exhausted: TypeAlias = Annotated[
    OnExhausted | None,
    typer.Option(
        "--on-exhausted",
        help="In a FIFO queue: whether a failed job blocks its key, or the next one runs.",
    ),
]
Attempts: TypeAlias = Annotated[
    str | None, typer.Option("--max-attempts", help="A number, or unlimited.")
]
Delay: TypeAlias = Annotated[
    str | None, typer.Option(help="Wait before a retry: an interval, for example '5 seconds'.")
]
LongestDelay: TypeAlias = Annotated[
    str | None, typer.Option(help="The longest wait before a retry: an interval.")
]
Lease: TypeAlias = Annotated[
    str | None, typer.Option(help="How long a claim holds: an interval, for example '5 minutes'.")
]
Retention: TypeAlias = Annotated[
    str | None,
    typer.Option(help="How long ended jobs are kept: an interval, for example '14 days'."),
]
DeadLetterRetention: TypeAlias = Annotated[
    str | None,
    typer.Option(help="How long dead letters that hold no key are kept: an interval."),
]
Backoff: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--retry-backoff/--no-retry-backoff", help="Whether the waits grow up to --retry-delay-max."
    ),
]
Schedule: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--backoff",
        "--backoff-schedule",
        help="Wait after the 1st, 2nd, … attempt; repeat the option.",
    ),
]
Lanes: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-lanes", help="Different combinations of priority, job type and tags at most."
    ),
]
Description: TypeAlias = Annotated[str | None, typer.Option(help="A note for people.")]


def create(
    queue: Queue,
    policy: Policy = None,
    on_exhausted: Exhausted = None,
    max_attempts: Attempts = None,
    retry_delay: Delay = None,
    retry_backoff: Backoff = None,
    retry_delay_max: LongestDelay = None,
    backoff: Schedule = None,
    lease: Lease = None,
    retention: Retention = None,
    dead_letter_retention: DeadLetterRetention = None,
    max_lanes: Lanes = None,
    description: Description = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Make a queue; does nothing when it exists with the same settings."""
    with client_of(dsn) as client:
        client.create_queue(
            queue,
            policy=policy,
            on_exhausted=on_exhausted,
            max_attempts=DEFAULT if max_attempts is None else _attempts(max_attempts),
            retry_delay=retry_delay,
            retry_backoff=retry_backoff,
            retry_delay_max=retry_delay_max,
            backoff_schedule=backoff,
            lease=lease,
            retention=retention,
            dead_letter_retention=dead_letter_retention,
            max_lanes=max_lanes,
            description=description,
        )
    print_done({"queue": queue}, f"queue {queue} is there", as_json)


def update(
    queue: Queue,
    policy: Policy = None,
    on_exhausted: Exhausted = None,
    max_attempts: Annotated[int | None, typer.Option(help="Attempts at most.")] = None,
    retry_delay: Delay = None,
    retry_backoff: Backoff = None,
    retry_delay_max: LongestDelay = None,
    backoff: Schedule = None,
    lease: Lease = None,
    retention: Retention = None,
    dead_letter_retention: DeadLetterRetention = None,
    max_lanes: Lanes = None,
    description: Description = None,
    fifo: Annotated[
        bool | None,
        typer.Option("--fifo/--no-fifo", help="Turn order per key on or off, with jobs in it."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --no-fifo: even if jobs wait for their turn.")
    ] = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Change settings of a queue; those that are not named stay."""
    with client_of(dsn) as client:
        if fifo is not None:
            client.set_fifo_mode(queue, fifo, force)
        client.update_queue(
            queue,
            policy=policy,
            on_exhausted=on_exhausted,
            max_attempts=max_attempts,
            retry_delay=retry_delay,
            retry_backoff=retry_backoff,
            retry_delay_max=retry_delay_max,
            backoff_schedule=backoff,
            lease=lease,
            retention=retention,
            dead_letter_retention=dead_letter_retention,
            max_lanes=max_lanes,
            description=description,
        )
    print_done({"queue": queue}, f"queue {queue} is changed", as_json)


def _attempts(text: str) -> int | None:
    if text == "unlimited":
        return None
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is neither a number nor unlimited")
    return int(text)


def list_(dsn: Dsn = "", as_json: AsJson = False) -> None:
    """All queues with their settings."""
    with client_of(dsn) as client:
        rows = client.list_queues()
    columns = ["queue", "policy", "is_paused", "max_attempts", "lease", "retention", "description"]
    print_rows(rows, columns, as_json, "no queues")


def show(queue: Queue, dsn: Dsn = "", as_json: AsJson = False) -> None:
    """All settings of a queue."""
    with client_of(dsn) as client:
        found = [info for info in client.list_queues() if info.queue == queue]
        if not found:
            client.queue_stats(queue)  # says why not
    info: QueueInfo | None = found[0] if found else None
    if info is None:
        fail(f"this role may not operate queue {queue}")
    print_record(info, as_json)


def limit(
    queue: Queue,
    max_running: Annotated[
        int | None, typer.Option(help="Jobs that are with workers at once, at most.")
    ] = None,
    key_limit: Annotated[
        int | None, typer.Option(help="The same for each key; only for the policy singleton.")
    ] = None,
    rate_count: Annotated[
        int | None, typer.Option("--rate-count", "--rate", help="Starts in any --per, at most.")
    ] = None,
    rate_interval: Annotated[
        str | None,
        typer.Option("--rate-interval", "--per", help="Interval, for example '1 minute'."),
    ] = None,
    rate_burst: Annotated[
        int | None,
        typer.Option(
            "--rate-burst", "--burst", help="How many of --rate may start close together."
        ),
    ] = None,
    key_rate_count: Annotated[
        int | None,
        typer.Option(
            "--key-rate-count", "--key-rate", help="Starts of each key in any --key-per, at most."
        ),
    ] = None,
    key_rate_interval: Annotated[
        str | None,
        typer.Option("--key-rate-interval", "--key-per", help="Interval, as --per."),
    ] = None,
    key_rate_burst: Annotated[
        int | None,
        typer.Option(
            "--key-rate-burst",
            "--key-burst",
            help="How many of --key-rate may start close together.",
        ),
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Set all limits of a queue; a limit that is not named is removed."""
    with client_of(dsn) as client:
        client.set_queue_limits(
            queue,
            max_running=max_running,
            key_limit=key_limit,
            rate_count=rate_count,
            rate_interval=rate_interval,
            rate_burst=rate_burst,
            key_rate_count=key_rate_count,
            key_rate_interval=key_rate_interval,
            key_rate_burst=key_rate_burst,
        )
    print_done({"queue": queue}, f"the limits of queue {queue} are set", as_json)


def limits(dsn: Dsn = "", as_json: AsJson = False) -> None:
    """Queues that have limits, and how far they are used."""
    with client_of(dsn) as client:
        rows = client.list_queue_limits()
    columns = [
        "queue",
        "max_running",
        "running",
        "key_limit",
        "rate_count",
        "rate_interval",
        "rate_burst",
        "next_start_at",
        "key_rate_count",
        "key_rate_interval",
        "key_rate_burst",
    ]
    print_rows(rows, columns, as_json, "no queue has limits")


def pause(
    queue: Queue,
    key: Annotated[
        str | None, typer.Option("--key", "--singleton-key", help="This key only.")
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Hand out no jobs until resume; new jobs are still accepted."""
    with client_of(dsn) as client:
        if key is None:
            client.pause_queue(queue)
        else:
            client.pause_key(queue, key)
    _say_paused(queue, key, True, as_json)


def resume(
    queue: Queue,
    key: Annotated[
        str | None, typer.Option("--key", "--singleton-key", help="This key only.")
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Hand out jobs again after pause."""
    with client_of(dsn) as client:
        if key is None:
            client.resume_queue(queue)
        else:
            client.resume_key(queue, key)
    _say_paused(queue, key, False, as_json)


def _say_paused(queue: str, key: str | None, is_paused: bool, as_json: bool) -> None:
    what = f"queue {queue}" if key is None else f"key {key} of queue {queue}"
    done = {"queue": queue, "singleton_key": key, "is_paused": is_paused}
    print_done(done, f"{what} {'is paused' if is_paused else 'goes on'}", as_json)


def paused(
    queue: MaybeQueue = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Rows at most.")] = 100,
    after: Annotated[
        str | None,
        typer.Option("--after", help="Go on behind this key of QUEUE, the last one of a page."),
    ] = None,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Keys that are paused: queue resume QUEUE --key KEY lets them go on."""
    with client_of(dsn) as client:
        rows = client.list_paused_keys(queue, limit, after)
    print_rows(rows, ["queue", "singleton_key", "paused_at"], as_json, "no key is paused")


def drop(
    queue: Queue,
    force: Annotated[bool, typer.Option("--force", help="With its live jobs.")] = False,
    yes: Yes = False,
    dsn: Dsn = "",
    as_json: AsJson = False,
) -> None:
    """Remove a queue with its history, schedules and grants."""
    confirm(f"Drop queue {queue}{' with its live jobs' if force else ''}?", yes)
    with client_of(dsn) as client:
        client.drop_queue(queue, force)
    print_done({"queue": queue}, f"queue {queue} is gone", as_json)


COMMANDS: list[Callable[..., Any]] = [
    create,
    update,
    list_,
    show,
    limit,
    limits,
    pause,
    resume,
    paused,
    drop,
]
