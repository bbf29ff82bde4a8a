"""What calls return: frozen dataclasses, built from rows by the names of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar, get_args, get_type_hints

from pgbaton.errors import IncompatibleServer

__all__ = [
    "AuditEntry",
    "BlockedJob",
    "BlockedKey",
    "CancelOutcome",
    "ClaimedJob",
    "DeadJob",
    "EnqueueOutcome",
    "FifoStat",
    "FoundJobs",
    "HealthCheck",
    "JobActions",
    "JobAttempt",
    "JobDependency",
    "JobInfo",
    "JobOutcome",
    "JobState",
    "JobStats",
    "JobTotal",
    "KvEntry",
    "ListedJob",
    "LiveStat",
    "NextJobs",
    "OnExhausted",
    "PausedKeyInfo",
    "QueueInfo",
    "QueueLimits",
    "QueuePolicy",
    "QueueStat",
    "ScheduleInfo",
    "Sleep",
    "SubscriptionInfo",
    "UnreadableJson",
    "Verdict",
    "WorkerInfo",
]


class QueuePolicy(StrEnum):
    """What jobs of a queue that share a singleton_key may do side by side."""

    STANDARD = "standard"
    SHORT = "short"
    SINGLETON = "singleton"
    STATELY = "stately"
    EXCLUSIVE = "exclusive"
    FIFO = "fifo"


class OnExhausted(StrEnum):
    """What a failed job of a FIFO queue does to its key."""

    BLOCK = "block"
    CONTINUE = "continue"


class JobState(StrEnum):
    """State of a job: the first seven are live, the others final."""

    WAITING = "waiting"
    PENDING = "pending"
    ACTIVE = "active"
    RETRY = "retry"
    UNKNOWN_RETRY = "unknown_retry"
    CANCELLING = "cancelling"
    FAILED = "failed"
    COMPLETED = "completed"
    STOPPED = "stopped"
    UNSCHEDULED = "unscheduled"
    UNKNOWN_STOPPED = "unknown_stopped"


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue and its settings, as `create_queue` took them."""

    queue: str
    policy: QueuePolicy
    on_exhausted: OnExhausted
    max_attempts: int | None
    """None is unlimited."""
    retry_delay: timedelta
    retry_backoff: bool
    retry_delay_max: timedelta
    backoff_schedule: list[timedelta] | None
    lease: timedelta
    retention: timedelta
    dead_letter_retention: timedelta | None
    """None is for ever."""
    max_lanes: int
    description: str | None
    is_paused: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """The limits of a queue, as `set_queue_limits` took them, and how far they are used."""

    queue: str
    max_running: int | None
    running: int | None
    """Jobs that are with workers now; None without max_running."""
    key_limit: int | None
    rate_count: int | None
    rate_interval: timedelta | None
    rate_burst: int | None
    """rate_count if none was given."""
    next_start_at: datetime | None
    """When the rate of the queue lets the next job start; None if it does now or has none."""
    key_rate_count: int | None
    """Starts of each key in any key_rate_interval."""
    key_rate_interval: timedelta | None
    key_rate_burst: int | None
    """key_rate_count if none was given."""


@dataclass(frozen=True, slots=True)
class EnqueueOutcome:
    """What `enqueue_jobs` did with one job."""

    ordinal: int
    """Place in the input, from 1."""
    job_id: int | None
    """The new job, or the earlier one when it is a duplicate; None when it was rejected."""
    outcome: str
    """`enqueued`, `duplicate`, `replaced` (it has the place of an earlier job), `behind` (an
    earlier one was claimed and has not ended), or `rejected: ` and why."""


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """A pattern of topics whose messages a queue gets."""

    queue: str
    topic_pattern: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job leased to a worker until `lease_until`; later calls carry its `lease_token`."""

    id: int
    queue: str
    job_type: str
    tags: list[str]
    priority: int
    singleton_key: str | None
    attempt: int
    """This attempt, from 1."""
    max_attempts: int | None
    """None is unlimited."""
    payload: Any
    created_at: datetime
    run_at: datetime | None
    claimed_at: datetime
    lease_until: datetime
    lease_token: int
    headers: dict[str, str] | None
    """Texts that came along with it; None: none."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a batch call did with one job."""

    ordinal: int
    """Place in the input, from 1."""
    job_id: int
    verdict: str
    """`ok`, `lease_lost`, `cancel_requested`, `invalid_state` or `not_found`."""


@dataclass(frozen=True, slots=True)
class NextJobs:
    """What `complete_and_claim` did."""

    jobs: list[ClaimedJob]
    """Leased now, as by `claim_job_batch`."""
    refused: list[Verdict]
    """Those that were not completed, in input order; all others were."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """How a worker sleeps until there is work for it."""

    channel: str
    """What it listens on; always the same for the same worker_id."""
    wait: timedelta
    """How long at most; 0 when there is work now."""


@dataclass(frozen=True, slots=True)
class CancelOutcome:
    """What `cancel_jobs` did, ids in ascending order."""

    cancelled_job_ids: list[int]
    """Cancelled, or running and asked to stop."""
    unknown_job_ids: list[int]
    """Not there, failed, or ended before."""


@dataclass(frozen=True, slots=True)
class DeadJob:
    """A failed job."""

    id: int
    queue: str
    job_type: str
    tags: list[str]
    singleton_key: str | None
    payload: Any
    attempts: int
    error_message: str | None
    """The last one."""
    created_at: datetime
    failed_at: datetime
    holds_key: bool
    """Whether it holds up its key."""


@dataclass(frozen=True, slots=True)
class KvEntry:
    """A payload that was stored under a key path when its job failed for good."""

    key: list[str]
    value: Any
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ScheduleInfo:
    """A schedule: what it enqueues, when it does so next and what it did last."""

    name: str
    queue: str
    cron: str
    time_zone: str
    payload: Any
    priority: int
    singleton_key: str | None
    job_type: str
    tags: list[str]
    missed_runs: str
    """`coalesce`, `skip` or `all`."""
    is_paused: bool
    next_run_at: datetime | None
    last_run_at: datetime | None
    last_job_id: int | None
    last_error: str | None
    """Why the last run enqueued nothing; None if it did."""


@dataclass(frozen=True, slots=True)
class PausedKeyInfo:
    """A key of which no job is handed out."""

    queue: str
    singleton_key: str
    paused_at: datetime


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What somebody did."""

    id: int
    at: datetime
    actor: str
    """The role that called."""
    action: str
    """The function that was called."""
    queue: str | None
    job_id: int | None
    singleton_key: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class BlockedKey:
    """A key of a FIFO queue and the job that holds it."""

    queue: str
    singleton_key: str
    job_id: int
    state: JobState
    blocked_since: datetime
    attempts: int
    last_error: str | None
    waiting_count: int
    """Jobs that stand behind it."""
    next_run_at: datetime | None
    """None: it does not run again by itself."""


@dataclass(frozen=True, slots=True)
class BlockedJob:
    """A job that waits for one that failed, or that ended without having completed."""

    queue: str
    job_id: int
    waits_for: int
    waits_for_queue: str | None
    state: JobState | None
    """Of the job that it waits for; None: that one is gone, or its queue is not yours."""
    resolution: str | None
    last_error: str | None
    blocked_since: datetime


@dataclass(frozen=True, slots=True)
class JobDependency:
    """A job that waits for another one, or did."""

    job_id: int
    waits_for: int
    queue: str | None
    """Of the other job than the one that was asked about, as are state and resolution."""
    state: JobState | None
    resolution: str | None
    on_failed: str | None
    """None: it waits no more."""
    is_settled: bool
    """It does not wait for that job any more."""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended."""

    job_id: int
    state: JobState | None
    """Its final state, or failed for a dead letter; None: there is no such job (any more)."""
    resolution: str | None
    """How an operator ended it: for example `skipped` or `deleted`."""
    result: Any
    error_message: str | None
    """The last error of an attempt."""
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobInfo:
    """All that is known of one job, live or final."""

    id: int
    queue: str
    job_type: str
    tags: list[str]
    priority: int
    singleton_key: str | None
    attempt: int
    """Attempts so far; 0 before the first claim."""
    max_attempts: int | None
    """None is unlimited."""
    payload: Any
    created_at: datetime
    run_at: datetime | None
    claimed_at: datetime | None
    """When it was claimed last."""
    lease_until: datetime | None
    lease_token: int | None
    state: JobState
    result: Any
    error_message: str | None
    """The last error of an attempt."""
    progress: int | None
    """Percent."""
    current_stage: str | None
    events_count: int | None
    retry_count: int
    last_retry_at: datetime | None
    worker_id: str | None
    """The last worker that claimed it."""
    started_at: datetime | None
    finished_at: datetime | None
    holds_key: bool
    """Whether it has the baton of its key: no other job of the key runs before it has ended."""
    dedup_id: str | None
    resolution: str | None
    """How an operator ended it: for example `skipped` or `deleted`."""
    headers: dict[str, str] | None
    """Texts that came along with it; None: none."""


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """An attempt of a job."""

    attempt: int
    outcome: str
    """failed, running, the final state in which it ended the job, or lost: the job was taken from
    its worker. Of one that was lost before the last one only the number is known."""
    claimed_at: datetime | None
    ended_at: datetime | None
    worker_id: str | None
    error_message: str | None
    error_stack: str | None
    """Where it failed, if the worker said so."""


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job in a list: without its payload, and with the first 1,000 characters of its error."""

    id: int
    queue: str
    job_type: str
    tags: list[str]
    priority: int
    singleton_key: str | None
    state: JobState
    resolution: str | None
    """How an operator ended it: for example `skipped` or `deleted`."""
    attempt: int
    max_attempts: int | None
    """None is unlimited."""
    created_at: datetime
    run_at: datetime | None
    claimed_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    """When it ended or failed."""
    worker_id: str | None
    error_message: str | None
    holds_key: bool


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """A page of what `find_jobs` found."""

    job_ids: list[int]
    """May be fewer than asked for, even none, although there are more."""
    next_after: str | None
    """Where to go on; None: that was all."""


@dataclass(frozen=True, slots=True)
class JobActions:
    """What one call of `act_on_jobs` did."""

    done: int
    """With how many jobs; with dry_run: it would."""
    passed_over: int
    """Somebody else changed them meanwhile, or the policy of their queue leaves no place."""
    next_after: str | None
    """Where to go on; None: that was all."""


@dataclass(frozen=True, slots=True)
class JobStats:
    """Counts of the jobs, live and final, that carry all of the tags."""

    tags: list[str]
    total_jobs: int
    pending_jobs: int
    running_jobs: int
    completed_jobs: int
    stopped_jobs: int
    """Final but not completed."""
    failed_jobs: int
    """Failed, or between two attempts."""
    total_retries: int


@dataclass(frozen=True, slots=True)
class QueueStat:
    """Jobs of a queue by what they are doing."""

    queue: str
    pending: int
    """Claimable now."""
    scheduled: int
    """`run_at` is in the future."""
    waiting: int
    """Behind another job of the key."""
    processing: int
    retrying: int
    """Between two attempts."""
    dlq: int
    """Failed."""
    completed: int
    total: int
    """All live jobs."""
    oldest_ready_age: timedelta | None
    """Age of the job that is next; None if there is none."""


@dataclass(frozen=True, slots=True)
class LiveStat:
    """Live jobs of a queue by what they are doing."""

    queue: str
    policy: QueuePolicy
    is_paused: bool
    pending: int
    """Claimable now."""
    scheduled: int
    """`run_at` is in the future."""
    waiting: int
    """Behind another job of the key."""
    processing: int
    """With a worker."""
    retrying: int
    """Between two attempts."""
    recovered: int
    """Taken back from a worker that was gone, to run again."""
    dlq: int
    """Failed."""
    oldest_ready_age: timedelta | None
    """Age of the job that is next; None if there is none."""
    blocked_keys: int
    """Keys of a FIFO queue that a job holds which has failed or waits to be retried."""
    longest_block: timedelta | None
    """Since the last attempt of such a job; None if there is none."""
    max_retry_count: int
    """Most retries of such a job."""


@dataclass(frozen=True, slots=True)
class JobTotal:
    """What a queue did so far; no number of it ever goes down."""

    queue: str
    counted_at: datetime | None
    """When; None if it could not be counted yet."""
    enqueued: int
    completed: int
    failed: int
    """Failed jobs that an operator gave up: skipped, deleted, purged or requeued."""
    stopped: int
    unscheduled: int
    unknown_stopped: int
    failed_attempts: int
    bounds: list[float]
    """Upper bounds of the classes of the histograms, in seconds; the last class has none."""
    run_jobs: list[int]
    """Ended jobs of each class by the time from their last claim to their end."""
    run_seconds: float
    """Sum of those times."""
    blocked_jobs: list[int]
    """Jobs of FIFO queues that failed at least once, by the time from their first failure until
    they let their key go."""
    blocked_seconds: float
    lease_losses: int
    """Jobs that were taken back after the end of their lease; up to date, whatever counted_at."""
    wait_jobs: list[int]
    """Ended jobs of each class by the time from when they were enqueued, or were due if that was
    later, to their last claim."""
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker; what its heartbeats say is None if it sends none."""

    worker_id: str
    capacity: int | None
    tags: list[str] | None
    started_at: datetime | None
    heartbeat_at: datetime | None
    running_jobs: int
    asleep_at: datetime | None
    """Since when it waits to be notified; None: it does not."""
    silent_for: timedelta | None
    """Time since its last heartbeat, by the clock of the server."""


@dataclass(frozen=True, slots=True)
class FifoStat:
    """A key of a FIFO queue and its jobs."""

    queue: str
    singleton_key: str
    queue_depth: int
    """Its live jobs."""
    current_job_id: int | None
    """The one that holds the key."""
    current_state: JobState | None
    current_retry_count: int
    blocked_duration: timedelta | None
    """For how long it has held up the others; None: it does not."""
    is_paused: bool


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One check of `health`."""

    check_name: str
    status: str
    """`ok`, `warn` or `bad`."""
    detail: str
    """What was seen and what to do."""


@dataclass(frozen=True, slots=True)
class UnreadableJson:
    """Stands for a payload or result that Python cannot read: it is stored, but json.loads fails.

    The database refuses such JSON; this one came before that rule, or another way. A worker and a
    stream fail its job, and its job only.
    """

    text: str
    """As the server sent it."""
    reason: str
    """Why it cannot be read."""

    def __str__(self) -> str:
        return f"the JSON cannot be read: {self.reason}"


R = TypeVar("R")
E = TypeVar("E", bound=StrEnum)


def job_state(value: Any) -> JobState:
    return _member(JobState, value)


def read_rows(kind: type[R], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[R]:
    """Rows as objects of `kind`; columns it does not have a field for are left out."""
    # mypy does not see that a class is hashable.
    read = _reader(kind, tuple(columns))  # type: ignore[arg-type]
    return [read(row) for row in rows]


def next_jobs(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> NextJobs:
    """The rows of complete_and_claim: jobs that were refused, and jobs that were claimed."""
    verdict = columns.index("verdict")
    claimed = [row for row in rows if row[verdict] == "claimed"]
    refused = [row for row in rows if row[verdict] != "claimed"]
    names = ["job_id" if name == "id" else name for name in columns]
    return NextJobs(read_rows(ClaimedJob, columns, claimed), read_rows(Verdict, names, refused))


@lru_cache
def _reader(kind: type[Any], columns: tuple[str, ...]) -> Callable[[tuple[Any, ...]], Any]:
    wanted = get_type_hints(kind)
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise IncompatibleServer(
            f"the server's answer lacks {', '.join(missing)} of {kind.__name__}"
        )
    pick = itemgetter(*map(columns.index, wanted))
    enums = [
        (place, kind)
        for place, hint in enumerate(wanted.values())
        for kind in (hint, *get_args(hint))
        if isinstance(kind, type) and issubclass(kind, StrEnum)
    ]

    def read(row: tuple[Any, ...]) -> Any:
        return kind(*pick(row))

    def read_with_enums(row: tuple[Any, ...]) -> Any:
        values = list(pick(row))
        for place, enum in enums:
            if values[place] is not None:
                values[place] = _member(enum, values[place])
        return kind(*values)

    return read_with_enums if enums else read


def elapsed(since: datetime, until: datetime) -> timedelta:
    """Time between two instants. They are in the time zone of the session, and of two in one zone
    Python subtracts what the clocks show: an hour too much or too little across a change of clocks.
    """
    return until.astimezone(UTC) - since.astimezone(UTC)


def _member(enum: type[E], value: Any) -> E:
    """psycopg has no loader for our enums and hands their binary form on as it came."""
    return enum(value.decode() if isinstance(value, bytes) else value)
