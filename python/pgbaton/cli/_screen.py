"""What `pgbaton top` shows, and what its keys do; knows nothing of terminals."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import psycopg
from rich.console import RenderableType
from rich.text import Text

from pgbaton._text import sentence
from pgbaton.cli._hints import hint_of
from pgbaton.cli._listing import Column, Frame, Listing
from pgbaton.cli._report import is_busy
from pgbaton.cli._text import clean, duration, one_line, when
from pgbaton.client import Client
from pgbaton.errors import NotPermitted
from pgbaton.models import BlockedKey, JobTotal, LiveStat, WorkerInfo

RATE_OVER = timedelta(minutes=1)
QUEUE_COLUMNS = [
    Column("queue"),
    Column("ready"),
    Column("running", 1),
    Column("failed"),
    Column("blocked", 3),
    Column("waiting", 4),
    Column("retrying", 5),
    Column("scheduled", 6),
    Column("in/s", 8),
    Column("done/s", 7),
    Column("oldest", 2),
]
KEY_COLUMNS = [
    Column("blocked key"),
    Column("queue", 3, is_left=True),
    Column("job", is_left=True),
    Column("state", 6, is_left=True),
    Column("since"),
    Column("waiting", 2),
    Column("runs again", 4),
    Column("attempts", 7),
    Column("error", 5, is_left=True, grows=True),
]
WORKER_COLUMNS = [
    Column("worker"),
    Column("runs"),
    Column("of", 2),
    Column("heartbeat", 1),
    Column("asleep", 3),
]
HELP = "↑↓ select  tab queues/keys  r retry  s skip  p pause/resume queue  q quit"


class Rates:
    """Jobs a second over the last minute, from totals that were counted at different times."""

    def __init__(self) -> None:
        self._counts: deque[tuple[datetime, dict[str, JobTotal]]] = deque()

    def add(self, totals: list[JobTotal]) -> None:
        at = max((t.counted_at for t in totals if t.counted_at), default=None)
        if at is None or (self._counts and self._counts[-1][0] == at):
            return
        self._counts.append((at, {t.queue: t for t in totals}))
        while len(self._counts) > 2 and self._counts[1][0] <= at - RATE_OVER:
            self._counts.popleft()

    def of(self, queue: str, field: str) -> float | None:
        """None until it was counted twice."""
        if len(self._counts) < 2:
            return None
        (start, before), (end, after) = self._counts[0], self._counts[-1]
        if queue not in before or queue not in after:
            return None
        done = getattr(after[queue], field) - getattr(before[queue], field)
        return float(done) / (end - start).total_seconds()


class Screen:
    """One look at the database after the other, a selected row, a question that is open."""

    def __init__(self, client: Client, every: float) -> None:
        self.is_done = False
        self._client = client
        self._max_age = timedelta(seconds=every)
        self._rates = Rates()
        self._queues: list[LiveStat] = []
        self._blocked: list[BlockedKey] = []
        self._workers: list[WorkerInfo] = []
        self._looked_at = datetime.now(UTC)
        self._on_keys = False
        self._cursor = 0
        self._message = ""
        self._trouble = ""
        """Why the last look failed."""
        self._hidden = ""
        """Why the blocked keys are not seen."""
        self._question: tuple[str, Callable[[], None]] | None = None

    def refresh(self) -> None:
        """Looks again; what goes wrong is shown, and the next look connects anew."""
        try:
            self._look()
        except psycopg.Error as error:
            self._trouble = sentence(error)
        else:
            self._trouble = ""

    def _look(self) -> None:
        selected = self._selected()
        # Those that do nothing come last: on a small terminal they are not seen.
        self._queues = sorted(self._client.live_stats(), key=lambda q: (not is_busy(q), q.queue))
        self._workers = [w for w in self._client.list_workers() if is_there(w)]
        self._rates.add(self._client.job_totals(max_age=self._max_age))
        try:
            self._blocked, self._hidden = self._client.blocked_keys(), ""
        except (psycopg.errors.InsufficientPrivilege, NotPermitted) as error:
            self._blocked, self._hidden = [], sentence(error)  # a role that only monitors
        self._looked_at = datetime.now(UTC)
        self._follow(selected)

    # Keys ------------------------------------------------------------------------------------

    def press(self, key: str) -> None:
        """What a key does: up, down, tab, or a letter."""
        if self._question:
            self._answer(key)
            return
        self._message = ""
        match key:
            case "q":
                self.is_done = True
            case "up" | "k":
                self._move(-1)
            case "down" | "j":
                self._move(1)
            case "tab":
                self._on_keys = not self._on_keys
                self._cursor = 0
                self._move(0)
            case "r":
                self._act_on_job("retry", self._retry)
            case "s":
                self._act_on_job("skip", self._skip)
            case "p":
                self._pause()

    def _answer(self, key: str) -> None:
        question, self._question = self._question, None
        if question is None or key != "y":
            self._message = "nothing was changed"
            return
        try:
            question[1]()
        except psycopg.Error as error:
            hint = hint_of(error)
            self._message = sentence(error) + (f": {hint}" if hint else "")
        else:
            self.refresh()

    def _rows(self) -> Sequence[LiveStat | BlockedKey]:
        return self._blocked if self._on_keys else self._queues

    def _move(self, step: int) -> None:
        self._cursor = max(0, min(self._cursor + step, len(self._rows()) - 1))

    def _follow(self, selected: LiveStat | BlockedKey | None) -> None:
        """The row that was selected stays so, wherever it is now."""
        names = [name_of(row) for row in self._rows()]
        if selected is not None and name_of(selected) in names:
            self._cursor = names.index(name_of(selected))
        self._move(0)

    def _selected(self) -> LiveStat | BlockedKey | None:
        return self._rows()[self._cursor] if self._rows() else None

    def _act_on_job(self, verb: str, action: Callable[[BlockedKey], None]) -> None:
        row = self._selected()
        if not isinstance(row, BlockedKey):
            self._message = "select a blocked key first: tab"
            return
        question = f"{verb} job {row.job_id} of key {row.singleton_key} in {row.queue}? y/n"
        self._question = (question, lambda: action(row))

    def _retry(self, row: BlockedKey) -> None:
        self._client.retry_job(row.queue, row.job_id)
        self._message = f"job {row.job_id} runs again"

    def _skip(self, row: BlockedKey) -> None:
        self._client.skip_job(row.queue, row.job_id, "skipped in pgbaton top")
        self._message = f"job {row.job_id} is skipped"

    def _pause(self) -> None:
        row = self._selected()
        if row is None:
            return
        queue = row.queue
        is_paused = any(q.queue == queue and q.is_paused for q in self._queues)
        call = self._client.resume_queue if is_paused else self._client.pause_queue
        verb = "resume" if is_paused else "pause"
        self._question = (f"{verb} queue {queue}? y/n", lambda: call(queue))

    # What is seen ----------------------------------------------------------------------------

    def render(self, height: int | None = None) -> RenderableType:
        """The frame, within so many lines and the width of the terminal."""
        said = self._question[0] if self._question else self._trouble or self._message
        no_keys = f"blocked keys: {self._hidden}" if self._hidden else "no key is blocked"
        return Frame(
            Text(f"pgbaton top  {self._looked_at.astimezone():%H:%M:%S}", "bold"),
            [
                self._queue_listing() if self._queues else Text("no queues"),
                self._key_listing() if self._blocked else Text(no_keys),
                self._worker_listing() if self._workers else Text("no workers"),
            ],
            [Text(said, "bold yellow"), Text(HELP, "dim")],
            height,
        )

    def _queue_listing(self) -> Listing:
        rows = [
            [
                clean(row.queue) + (" (paused)" if row.is_paused else ""),
                *map(
                    "{:,}".format,
                    (
                        row.pending,
                        row.processing,
                        row.dlq,
                        row.blocked_keys,
                        row.waiting,
                        row.retrying + row.recovered,
                        row.scheduled,
                    ),
                ),
                _rate(self._rates.of(row.queue, "enqueued")),
                _rate(self._rates.of(row.queue, "completed")),
                duration(row.oldest_ready_age),
            ]
            for row in self._queues
        ]
        return self._listing(QUEUE_COLUMNS, rows, on_keys=False)

    def _key_listing(self) -> Listing:
        rows = [
            [
                *map(clean, (row.singleton_key, row.queue, str(row.job_id), row.state)),
                when(row.blocked_since),
                f"{row.waiting_count:,}",
                when(row.next_run_at) or "not by itself",
                str(row.attempts),
                one_line(row.last_error or "", 50),
            ]
            for row in self._blocked
        ]
        return self._listing(KEY_COLUMNS, rows, on_keys=True)

    def _worker_listing(self) -> Listing:
        rows = [
            [
                clean(row.worker_id),
                str(row.running_jobs),
                "" if row.capacity is None else str(row.capacity),
                "none" if row.silent_for is None else f"{duration(row.silent_for)} ago",
                "yes" if row.asleep_at else "",
            ]
            for row in self._workers
        ]
        return Listing(WORKER_COLUMNS, rows)

    def _listing(
        self, columns: Sequence[Column], rows: Sequence[Sequence[str]], on_keys: bool
    ) -> Listing:
        is_selected = on_keys == self._on_keys
        return Listing(columns, rows, self._cursor if is_selected else 0, is_selected)


def name_of(row: LiveStat | BlockedKey) -> tuple[str, str | None]:
    return row.queue, row.singleton_key if isinstance(row, BlockedKey) else None


def is_there(worker: WorkerInfo) -> bool:
    """Whether it sent a heartbeat lately, or holds jobs all the same."""
    silent_for = worker.silent_for
    return worker.running_jobs > 0 or (silent_for is not None and silent_for < timedelta(minutes=2))


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"
