"""What bench/peers.py found: medians, goals, Markdown tables."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from harness import Run
from queues.base import Queue

BEGIN = "<!-- measured by make bench-peers: do not edit between these lines -->"
END = "<!-- end of what make bench-peers wrote -->"
OURS = "pgbaton"
IN_ONE_CALL = "pgbaton, one call"
KEY_LIMIT = "pgbaton, key_limit 8"
TEXTBOOK = "textbook"


class Key(NamedTuple):
    workload: str
    queue: str


@dataclass
class Results:
    """The runs of each workload and queue."""

    runs: dict[Key, list[dict[str, Any]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def attempt(self, workload: str, queue: str, one: Callable[[], Run]) -> None:
        """Adds a run, or what failed in it: one queue must not end the whole measurement."""
        try:
            self.add(workload, queue, one())
        except (AssertionError, RuntimeError, psycopg.Error) as error:
            self.failures.append(f"{workload}, {queue}: {error}")
            print(f"  FAILED {self.failures[-1]}", file=sys.stderr, flush=True)

    def add(self, workload: str, queue: str, run: Run) -> None:
        figures = run.figures()
        self.runs.setdefault(Key(workload, queue), []).append(figures)
        rate = f"{figures['jobs_per_s']:,.0f}/s"
        print(f"  {workload} {queue}: {rate} {figures['jobs']} jobs", file=sys.stderr, flush=True)

    def median(self, workload: str, queue: str, *path: str) -> float | None:
        """Of a figure; None if it was not measured."""
        values = []
        for run in self.runs.get(Key(workload, queue), []):
            value: Any = run
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                values.append(float(value))
        return statistics.median(values) if values else None

    def spread(self, workload: str, queue: str) -> tuple[float, float]:
        rates = [run["jobs_per_s"] for run in self.runs[Key(workload, queue)]]
        return min(rates), max(rates)

    @classmethod
    def of(cls, report: dict[str, Any]) -> Results:
        """Those that a report holds."""
        runs = {Key(entry["workload"], entry["queue"]): entry["runs"] for entry in report["runs"]}
        return cls(runs, list(report["failures"]))

    def keep(self, earlier: Results) -> None:
        """Adds the runs of workloads that these have not; failures of all stay."""
        measured = {key.workload for key in self.runs}
        for key, runs in earlier.runs.items():
            if key.workload not in measured:
                self.runs[key] = runs
        self.failures[:0] = [
            failure for failure in earlier.failures if failure.split(",")[0] not in measured
        ]

    def queues_of(self, workload: str) -> list[str]:
        return [key.queue for key in self.runs if key.workload == workload]

    def best(self, workload: str, names: Sequence[str], *path: str) -> float | None:
        """The largest median of these queues."""
        values = [self.median(workload, name, *(path or ("jobs_per_s",))) for name in names]
        known = [value for value in values if value is not None]
        return max(known) if known else None


# Goals


class Goal(NamedTuple):
    """A ratio or a figure of the run, None if not measured, and what it should be."""

    text: str
    value: float | None
    limit: float
    is_least: bool = True  # else at most

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        reached = self.value >= self.limit if self.is_least else self.value <= self.limit
        return "reached" if reached else "missed"


def ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b


def goals_of(results: Results, queues: dict[str, type[Queue]]) -> list[Goal]:
    """The goals of the project, each from medians of this run."""
    peers = [name for name in queues if name != OURS]
    with_states = [name for name in peers if queues[name].keeps_states]
    strict = [name for name in peers if queues[name].order == "strict"]

    def rate(workload: str, queue: str = OURS) -> float | None:
        return results.median(workload, queue, "jobs_per_s")

    def against(workload: str, names: Sequence[str], ours: str = OURS) -> float | None:
        return ratio(rate(workload, ours), results.best(workload, names))

    def beside(
        text: str, workload: str, names: Sequence[str], limit: float, ours: str = OURS
    ) -> Goal:
        return Goal(text, against(workload, names, ours), limit)

    def figure(workload: str, *path: str) -> float | None:
        return results.median(workload, OURS, *path)

    def claim(workload: str) -> float | None:
        return figure(workload, "claim_ms", "p50")

    def least(workload: str, names: Sequence[str], *path: str) -> float | None:
        values = [results.median(workload, name, *path) for name in names]
        return min((value for value in values if value is not None), default=None)

    def life(enqueue: str, drain: str) -> float | None:
        parts = [figure(name, "wal_bytes_per_job") for name in (enqueue, drain)]
        return sum(part for part in parts if part is not None) if None not in parts else None

    p99, cpu = "latency_p99_ms", "server_cpu_us_per_job"
    first, last = "latency_p95_ms_first_stretch", "latency_p95_ms_last_stretch"

    def claim_beside(name: str, crowd: str) -> Goal:
        with_crowd, without = claim(f"{name}_with"), claim(f"{name}_without")
        return Goal(f"claim beside {crowd}", ratio(with_crowd, without), 1.1, False)

    def stays_flat(kind: str, what: str) -> Goal:
        measured = ratio(
            figure(f"held_snapshot{kind}", last), figure(f"held_snapshot{kind}", first)
        )
        return Goal(f"held snapshot, {what}: p95 last / first", measured, 1.2, False)

    packages = [name for name in peers if name != TEXTBOOK]
    states = [name for name in with_states if name != TEXTBOOK]
    textbook = [TEXTBOOK]
    return [
        *(
            goal
            for batch, package, table_ in ((1, 1.2, 1.0), (10, 1.5, 1.4))
            for goal in (
                beside(
                    f"b={batch}, one call / best package",
                    f"drain_b{batch}",
                    packages,
                    package,
                    IN_ONE_CALL,
                ),
                beside(
                    f"b={batch}, one call / textbook",
                    f"drain_b{batch}",
                    textbook,
                    table_,
                    IN_ONE_CALL,
                ),
            )
        ),
        beside("b=1, two calls / best package", "drain_b1", packages, 0.85),
        beside("b=10, two calls / best package", "drain_b10", packages, 1),
        beside("b=100 / best package with states", "drain_b100", states, 2),
        beside("b=100 / PgQ", "drain_b100", ["pgq"], 1),
        beside("b=500 / best package with states", "drain_b500", states, 2.5),
        beside("b=500 / PgQ", "drain_b500", ["pgq"], 0.9),
        beside("singly enqueued, b=100 / best package", "drain_single", states, 1.5),
        beside("singly enqueued, b=100 / textbook", "drain_single", textbook, 1.1),
        Goal("b=100: server CPU µs a job", figure("drain_b100", cpu), 10, False),
        Goal(
            "b=100, one consumer: server CPU µs a job",
            figure("drain_b100_1_consumers", cpu),
            10,
            False,
        ),
        beside("bulk enqueue / best", "enqueue_bulk", peers, 1.5),
        beside("bulk enqueue / COPY", "enqueue_bulk", ["COPY"], 0.7),
        beside("single enqueue / PgQ", "enqueue_one", ["pgq"], 0.9),
        beside("single enqueue / best package with states", "enqueue_one", states, 1.2),
        beside("acknowledging one by one / textbook", "ack_singly", textbook, 0.9),
        Goal(
            "steady p99 / best", ratio(figure("steady", p99), least("steady", peers, p99)), 1, False
        ),
        Goal("wake-up p50 ms", figure("wake_up", "wake_p50_ms"), 2, False),
        stays_flat("", "without keys"),
        stays_flat("_keyed", "with keys"),
        Goal("claim at 1M / 10k", ratio(claim("backlog_1M"), claim("backlog_10k")), 1.2, False),
        Goal("claim at 10M / 10k", ratio(claim("backlog_10M"), claim("backlog_10k")), 1.2, False),
        claim_beside("scheduled", "jobs scheduled far ahead"),
        claim_beside("dead_letters", "dead letters"),
        claim_beside("hot_key_waiting", "a hot key's waiting jobs"),
        beside("10k keys x 10 / best strict peer", "keyed_10k_x_10", strict, 12),
        Goal(
            "10k keys x 10 / singly enqueued without keys",
            ratio(rate("keyed_10k_x_10"), rate("drain_single")),
            0.45,
        ),
        Goal(
            "others beside a hot key: time / without it",
            ratio(figure("hot_key", "seconds"), figure("no_hot_key", "seconds")),
            1.1,
            False,
        ),
        Goal(
            "many keys x 1 / few keys x 100",
            ratio(rate("keyed_many_x_1"), rate("keyed_10k_x_many")),
            0.7,
        ),
        Goal(
            "key_limit 8 / in order per key",
            ratio(rate("keyed_10k_x_10", KEY_LIMIT), rate("keyed_10k_x_10")),
            0.8,
        ),
        Goal(
            "max_running 4, 16 consumers / no limit, 4 consumers",
            ratio(rate("max_running_4"), rate("no_limit_4_consumers")),
            0.7,
        ),
        beside("max_running 4 / best package that has it", "max_running_4", packages, 1),
        Goal("WAL bytes a life, bulk", life("enqueue_bulk", "drain_b100"), 400, False),
        Goal("WAL bytes a life, single", life("enqueue_one", "drain_single"), 800, False),
        Goal("WAL bytes a life, keyed", life("enqueue_keyed", "keyed_10k_x_10"), 1500, False),
    ]


# Output


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def rates_table(results: Results, workloads: Sequence[str]) -> str:
    """Median jobs/s of each queue, with the least and the most below it."""
    known = [name for name in workloads if results.queues_of(name)]
    queues = list(dict.fromkeys(q for name in known for q in results.queues_of(name)))
    rows = []
    for queue in queues:
        cells = []
        for workload in known:
            if (rate := results.median(workload, queue, "jobs_per_s")) is None:
                cells.append("-")
                continue
            low, high = results.spread(workload, queue)
            cells.append(f"{rate:,.0f} ({low:,.0f}-{high:,.0f})")
        rows.append([queue, *cells])
    return table(["jobs/s", *known], rows)


DETAILS: list[tuple[str, tuple[str, ...], int]] = [
    ("claim p50 ms", ("claim_ms", "p50"), 2),
    ("p95", ("claim_ms", "p95"), 2),
    ("p99", ("claim_ms", "p99"), 2),
    ("ack p50 ms", ("ack_ms", "p50"), 2),
    ("p95", ("ack_ms", "p95"), 2),
    ("p99", ("ack_ms", "p99"), 2),
    ("CPU µs/job", ("server_cpu_us_per_job",), 1),
    ("WAL bytes/job", ("wal_bytes_per_job",), 0),
    ("dead tuples", ("dead_tuples",), 0),
    ("xids/job", ("xids_per_job",), 3),
]
LATENCIES: list[tuple[str, tuple[str, ...], int]] = [
    ("sent", ("sent",), 0),
    ("done", ("jobs",), 0),
    ("p50 ms", ("latency_p50_ms",), 1),
    ("p95", ("latency_p95_ms",), 1),
    ("p99", ("latency_p99_ms",), 1),
    ("p95 first stretch", ("latency_p95_ms_first_stretch",), 1),
    ("p95 last stretch", ("latency_p95_ms_last_stretch",), 1),
    ("claim p50 ms", ("claim_ms", "p50"), 2),
    ("CPU µs/job", ("server_cpu_us_per_job",), 1),
    ("dead tuples", ("dead_tuples",), 0),
]
TIMES: list[tuple[str, tuple[str, ...], int]] = [
    ("jobs", ("jobs",), 0),
    ("seconds", ("seconds",), 2),
    ("jobs/s", ("jobs_per_s",), 0),
    *DETAILS,
]


def details_table(
    results: Results, workloads: Sequence[str], columns: list[tuple[str, tuple[str, ...], int]]
) -> str:
    rows = [
        [
            workload,
            queue,
            *(
                number(results.median(workload, queue, *path), digits)
                for _, path, digits in columns
            ),
        ]
        for workload in workloads
        for queue in results.queues_of(workload)
    ]
    return table(["", "", *(name for name, _, _ in columns)], rows)


def markdown(report: dict[str, Any], results: Results, goals: list[Goal]) -> str:
    names = list(dict.fromkeys(key.workload for key in results.runs))
    drains = [name for name in names if name.startswith("drain")]
    enqueues = [name for name in names if name.startswith("enqueue")]
    loads = [name for name in names if name.startswith(("steady", "held", "retention"))]
    rated = [*enqueues, *drains, "ack_singly"]
    keys = [name for name in names if name.startswith(("keyed", "blocked", "max_", "no_limit"))]
    rest = [name for name in names if name not in {*rated, *loads, *keys}]
    sections = [
        ("", "\n\n".join(report["summaries"])),
        ("Queues", table(["queue", "version", "set up"], report["queues"])),
        *(
            [("Failed runs", "\n".join(f"- {f}" for f in results.failures))]
            if results.failures
            else []
        ),
        (
            "Goals",
            table(
                ["goal", "asked", "measured", ""],
                [
                    [
                        goal.text,
                        f"{'≥' if goal.is_least else '≤'} {goal.limit:,.2f}".removesuffix(".00"),
                        number(goal.value, 2),
                        goal.verdict,
                    ]
                    for goal in goals
                ],
            ),
        ),
        ("Enqueue", rates_table(results, enqueues)),
        ("Drain and acknowledge", rates_table(results, [*drains, "ack_singly"])),
        ("Keys", rates_table(results, keys)),
        ("Latency", details_table(results, loads, LATENCIES)),
        ("Backlog, hot keys and what stands beside", details_table(results, rest, TIMES)),
        ("Costs", details_table(results, [*rated, *keys], DETAILS)),
    ]
    parts = [f"### {title}\n\n{text}" if title else text for title, text in sections]
    return "\n\n".join(parts)


def write_docs(path: Path, text: str) -> None:
    """Puts the tables between the markers."""
    page = path.read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path} lacks the markers {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
