"""Metrics for Prometheus, read from the database by the functions of role pgbaton_monitor.

docs/metrics.md lists them. Counters are those of `Client.job_totals`: the database keeps them, so
they go on where they were when an exporter starts again, and several exporters say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate

import psycopg

from pgbaton._extras import extra
from pgbaton.client import Client
from pgbaton.models import (
    FifoStat,
    HealthCheck,
    JobTotal,
    LiveStat,
    QueuePolicy,
    WorkerInfo,
)

with extra("metrics"):
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        InfoMetricFamily,
        Metric,
    )
    from prometheus_client.registry import Collector as BaseCollector

__all__ = ["Collector"]

STATUS = {"ok": 0, "warn": 1, "bad": 2}
LIVE_STATES = ("pending", "scheduled", "waiting", "processing", "retrying", "recovered")
FINAL_STATES = ("completed", "failed", "stopped", "unscheduled", "unknown_stopped")
HEARTBEAT_AGE = timedelta(minutes=2)


@dataclass(frozen=True)
class Reading:
    """What one scrape saw."""

    version: str
    live: list[LiveStat]
    totals: list[JobTotal]
    wake_ups: int | None
    workers: list[WorkerInfo]
    checks: list[HealthCheck]
    keys: list[FifoStat]


class Collector(BaseCollector):
    """Reads the metrics of a database whenever it is scraped.

    Register it with a `prometheus_client.CollectorRegistry`. The series are bounded by the number
    of queues that the client's role may monitor.

    Args:
        client (Client): of a role that is a member of pgbaton_monitor.
        keys (int): also the so many longest lines of FIFO keys by name; default 0. Reading them
            costs one row for each key with jobs.
        max_age (float): seconds for which a count of ended jobs is good; default 60.
    """

    def __init__(self, client: Client, keys: int = 0, max_age: float = 60) -> None:
        self._client = client
        self._keys = keys
        self._max_age = timedelta(seconds=max_age)

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering reads nothing from the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All metrics, or only pgbaton_up 0 when the database cannot be asked."""
        up = GaugeMetricFamily("pgbaton_up", "Whether the database could be asked.")
        try:
            reading = self.read()
        except psycopg.Error:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from families(reading)

    def read(self) -> Reading:
        """Asks the database.

        Returns:
            Reading: what it said.

        Raises:
            psycopg.Error: it cannot be asked, or the role may not monitor.
        """
        client = self._client
        keys = client.fifo_stats() if self._keys else []
        keys.sort(key=lambda key: key.queue_depth, reverse=True)
        return Reading(
            client.version(),
            client.live_stats(),
            client.job_totals(max_age=self._max_age),
            client.wake_ups(),
            client.list_workers(),
            client.health(),
            keys[: self._keys],
        )


def families(reading: Reading) -> Iterator[Metric]:
    """The metrics of a reading."""
    yield InfoMetricFamily(
        "pgbaton_build", "Version of pgbaton in the database.", {"version": reading.version}
    )
    yield from queue_gauges(reading.live)
    yield from counters(reading.totals)
    yield from event_counters(reading.totals, reading.wake_ups)
    yield from fifo(reading.live, reading.totals)
    yield from top_keys(reading.keys)
    yield from worker_gauges(reading.workers)
    checks = GaugeMetricFamily(
        "pgbaton_health_status",
        "Checks of pgbaton.health(): 0 ok, 1 warn, 2 bad.",
        labels=["check"],
    )
    for check in reading.checks:
        checks.add_metric([check.check_name], STATUS[check.status])
    yield checks


def queue_gauges(live: list[LiveStat]) -> Iterator[Metric]:
    jobs = GaugeMetricFamily(
        "pgbaton_jobs", "Live jobs by what they are doing.", labels=["queue", "state"]
    )
    paused = GaugeMetricFamily(
        "pgbaton_queue_paused", "Whether the queue hands out no jobs.", labels=["queue"]
    )
    age = GaugeMetricFamily(
        "pgbaton_oldest_ready_age_seconds",
        "Age of the job that is next; 0 when none is claimable.",
        labels=["queue"],
    )
    for row in live:
        for state in LIVE_STATES:
            jobs.add_metric([row.queue, state], getattr(row, state))
        jobs.add_metric([row.queue, "failed"], row.dlq)
        paused.add_metric([row.queue], row.is_paused)
        age.add_metric([row.queue], seconds(row.oldest_ready_age))
    yield from (jobs, paused, age)


def counters(totals: list[JobTotal]) -> Iterator[Metric]:
    enqueued = CounterMetricFamily("pgbaton_jobs_enqueued", "Jobs enqueued.", labels=["queue"])
    ended = CounterMetricFamily(
        "pgbaton_jobs_ended", "Jobs ended, by their final state.", labels=["queue", "state"]
    )
    attempts = CounterMetricFamily(
        "pgbaton_failed_attempts", "Attempts that failed.", labels=["queue"]
    )
    run = HistogramMetricFamily(
        "pgbaton_job_duration_seconds",
        "Time of ended jobs from their last claim to their end.",
        labels=["queue"],
    )
    wait = HistogramMetricFamily(
        "pgbaton_job_wait_seconds",
        "Time of ended jobs from their enqueue, or when they were due, to their last claim.",
        labels=["queue"],
    )
    counted = GaugeMetricFamily(
        "pgbaton_counted_timestamp_seconds", "When the counters were counted.", labels=["queue"]
    )
    for row in totals:
        if row.counted_at is None:
            continue
        counted.add_metric([row.queue], row.counted_at.timestamp())
        enqueued.add_metric([row.queue], row.enqueued)
        for state in FINAL_STATES:
            ended.add_metric([row.queue, state], getattr(row, state))
        attempts.add_metric([row.queue], row.failed_attempts)
        run.add_metric([row.queue], buckets(row.bounds, row.run_jobs), row.run_seconds)
        wait.add_metric([row.queue], buckets(row.bounds, row.wait_jobs), row.wait_seconds)
    yield from (counted, enqueued, ended, attempts, wait, run)


def event_counters(totals: list[JobTotal], wake_ups: int | None) -> Iterator[Metric]:
    losses = CounterMetricFamily(
        "pgbaton_lease_losses",
        "Jobs that were taken back after the end of their lease.",
        labels=["queue"],
    )
    for row in totals:
        losses.add_metric([row.queue], row.lease_losses)
    yield losses
    if wake_ups is not None:
        yield CounterMetricFamily(
            "pgbaton_wake_ups", "Notifications to sleeping workers.", wake_ups
        )


def fifo(live: list[LiveStat], totals: list[JobTotal]) -> Iterator[Metric]:
    """Of FIFO queues; what is known as fifo_subscription_ comes under that name once more."""
    keys = GaugeMetricFamily(
        "pgbaton_blocked_keys",
        "Keys held by a job that failed or waits for a retry.",
        labels=["queue"],
    )
    longest = GaugeMetricFamily(
        "pgbaton_longest_block_seconds",
        "Time since the last attempt of the job that blocks its key longest; 0 when none does.",
        labels=["queue"],
    )
    in_order = [row for row in live if row.policy is QueuePolicy.FIFO]
    names = {row.queue for row in in_order}
    counted = [row for row in totals if row.queue in names and row.counted_at is not None]
    for row in in_order:
        keys.add_metric([row.queue], row.blocked_keys)
        longest.add_metric([row.queue], seconds(row.longest_block))
    yield from (keys, longest)
    ours = Names(
        "pgbaton_fifo_jobs",
        "pgbaton_blocked_key_retries",
        "pgbaton_block_duration_seconds",
        "queue",
    )
    yield from lines(ours, in_order, counted)
    yield from lines(NAMES_OF_D, in_order, counted)


@dataclass(frozen=True)
class Names:
    """What the metrics of lines are called."""

    depth: str
    retries: str
    blocked: str
    label: str


NAMES = Names(
    "pgbaton_fifo_jobs",
    "pgbaton_blocked_key_retries",
    "pgbaton_block_duration_seconds",
    "queue",
)
NAMES_OF_D = Names(
    "fifo_subscription_queue_depth",
    "fifo_subscription_current_retry_count",
    "fifo_subscription_blocked_duration_seconds",
    "subscription_id",
)
"""The names for those to whom a FIFO queue is a subscription."""


def lines(names: Names, live: list[LiveStat], totals: list[JobTotal]) -> Iterator[Metric]:
    label = [names.label]
    depth = GaugeMetricFamily(
        names.depth, "Live jobs of a FIFO queue that have not failed.", labels=label
    )
    retries = GaugeMetricFamily(
        names.retries,
        "Most retries of a job that blocks its key now; 0 when none does.",
        labels=label,
    )
    blocked = HistogramMetricFamily(
        names.blocked,
        "How long jobs that failed blocked their keys, from the first failure on.",
        labels=label,
    )
    for row in live:
        depth.add_metric([row.queue], sum(getattr(row, state) for state in LIVE_STATES))
        retries.add_metric([row.queue], row.max_retry_count)
    for total in totals:
        times = buckets(total.bounds, total.blocked_jobs)
        blocked.add_metric([total.queue], times, total.blocked_seconds)
    yield from (depth, retries, blocked)


def top_keys(keys: list[FifoStat]) -> Iterator[Metric]:
    labels = ["queue", "key"]
    depth = GaugeMetricFamily(
        "pgbaton_key_jobs", "Live jobs of the keys with the longest lines.", labels=labels
    )
    blocked = GaugeMetricFamily(
        "pgbaton_key_blocked_seconds", "For how long such a key is held up.", labels=labels
    )
    for key in keys:
        depth.add_metric([key.queue, key.singleton_key], key.queue_depth)
        blocked.add_metric([key.queue, key.singleton_key], seconds(key.blocked_duration))
    yield from (depth, blocked)


def worker_gauges(workers: list[WorkerInfo]) -> Iterator[Metric]:
    alive = [w for w in workers if w.silent_for is not None and w.silent_for < HEARTBEAT_AGE]
    stale = [w for w in workers if w not in alive and w.running_jobs]
    yield GaugeMetricFamily(
        "pgbaton_workers", "Workers with a heartbeat in the last two minutes.", len(alive)
    )
    yield GaugeMetricFamily(
        "pgbaton_stale_workers",
        "Workers that hold jobs and sent no heartbeat for two minutes.",
        len(stale),
    )
    yield GaugeMetricFamily(
        "pgbaton_sleeping_workers",
        "Workers that wait to be notified.",
        sum(w.asleep_at is not None for w in workers),
    )


def buckets(bounds: list[float], jobs: list[int]) -> list[tuple[str, float]]:
    """Cumulative, as Prometheus wants them."""
    names = [str(bound) for bound in bounds] + ["+Inf"]
    return list(zip(names, map(float, accumulate(jobs)), strict=True))


def seconds(value: timedelta | None) -> float:
    return 0 if value is None else value.total_seconds()
