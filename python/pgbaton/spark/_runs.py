"""What becomes of a run after it was enqueued."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg import sql
from psycopg.rows import dict_row
from pyspark.sql import DataFrame, SparkSession

from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import plain_errors
from pgbaton.spark._ranges import DEFAULT_PARTITIONS, IdRange, check_partitions
from pgbaton.spark._views import OUTCOME, csv_list, schema_of
from pgbaton.spark._workers import require_workers

if TYPE_CHECKING:
    import pyarrow as pa

# What one statement of a task reads.
MOST_JOBS_AT_ONCE = 50_000
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0


@dataclass(frozen=True)
class ErrorCount:
    """An error, and how many jobs of a run failed with it."""

    error: str | None
    """Its first 200 characters; None if nothing was said."""
    jobs: int


@dataclass(frozen=True)
class RunReport:
    """How far a run is in one queue."""

    queue: str
    enqueued: int
    waiting: int
    """Jobs that wait, also those that will be tried again."""
    running: int
    failed: int
    """For good; what an operator retries waits again."""
    completed: int
    stopped: int
    """Cancelled, or ended otherwise."""
    gone: int
    """Deleted, or dropped with their retention."""
    p95: timedelta | None
    """From claim to end: what 95 of 100 completed jobs do not exceed; None without any."""
    errors: list[ErrorCount]
    """Why jobs failed, the most frequent first, 20 at most."""


@plain_errors()
def run_report(dsn: str, run_id: str) -> list[RunReport]:
    """How far a run is: jobs by state, errors of those that failed, how long they took.

    Args:
        dsn (str): connection string or URL of a role that is in pgbaton_producer.
        run_id (str): the run, as `Enqueued.run_id` has it; of a micro-batch "stream_id:number".

    Returns:
        list[RunReport]: one for each queue that got jobs of it.

    Raises:
        psycopg.errors.UndefinedObject: there is no such run.
    """
    with (
        Target.resolve(dsn).connect() as connection,
        # The text of an interval depends on IntervalStyle.
        connection.cursor(binary=True, row_factory=dict_row) as cursor,
    ):
        rows = cursor.execute("select * from pgbaton.spark_report(%s)", [run_id]).fetchall()
    return [RunReport(**{**row, "errors": _errors(row["errors"])}) for row in rows]


def _errors(found: list[dict[str, Any]]) -> list[ErrorCount]:
    return [ErrorCount(**error) for error in found]


@plain_errors()
def wait(
    spark: SparkSession,
    dsn: str,
    run_id: str,
    *,
    timeout: timedelta | None = None,
    partitions: int = DEFAULT_PARTITIONS,
) -> DataFrame:
    """Waits until all jobs of a run have ended, and returns what became of them.

    A job that failed for good has ended, until an operator retries it. Rows that are not enqueued
    yet are not waited for: let `enqueue` end first. The driver looks every two seconds at the most.

    Args:
        spark (SparkSession): where to.
        dsn (str): connection string or URL of a role that is in pgbaton_producer.
        run_id (str): the run, as `Enqueued.run_id` has it.
        timeout (timedelta): how long to wait; default as long as it takes. Zero looks once.
        partitions (int): how many tasks read the outcomes side by side, at most.

    Returns:
        DataFrame: as that of `outcomes`.

    Raises:
        TimeoutError: some jobs have not ended in that time.
        psycopg.errors.UndefinedObject: there is no such run.
        ImportError: Spark's Python workers have no pgbaton or no psycopg.
    """
    check_partitions(partitions)
    target = Target.resolve(dsn)
    deadline = None if timeout is None else time.monotonic() + timeout.total_seconds()
    while _paused_until_ended(target, run_id, deadline):
        pass  # what failed meanwhile may have been retried
    return _outcomes(spark, target, run_id, partitions)


@plain_errors()
def outcomes(
    spark: SparkSession, dsn: str, run_id: str, *, partitions: int = DEFAULT_PARTITIONS
) -> DataFrame:
    """What has become of the jobs of a run so far, also of those that have not ended.

    Args:
        spark (SparkSession): where to.
        dsn (str): connection string or URL of a role that is in pgbaton_producer.
        run_id (str): the run, as `Enqueued.run_id` has it.
        partitions (int): how many tasks read side by side, at most.

    Returns:
        DataFrame: one row for each job: id, queue, part (0 with method "datasource"),
        singleton_key, payload, state, resolution, attempt, claimed_at, ended_at, last_error,
        result. Every action reads anew. A state that is null: the job is gone.

    Raises:
        psycopg.errors.UndefinedObject: there is no such run.
        ImportError: Spark's Python workers have no pgbaton or no psycopg.
    """
    check_partitions(partitions)
    return _outcomes(spark, Target.resolve(dsn), run_id, partitions)


def _outcomes(spark: SparkSession, target: Target, run_id: str, partitions: int) -> DataFrame:
    require_workers(spark)
    ranges = _ranges(target, run_id, partitions)
    return spark.range(0, len(ranges), 1, max(1, min(partitions, len(ranges)))).mapInArrow(
        partial(_read_outcomes, target, run_id, ranges), schema_of(OUTCOME)
    )


def _paused_until_ended(target: Target, run_id: str, deadline: float | None) -> bool:
    """Looks through the run until nothing of it waits or runs; whether that took a pause."""
    place, pause, has_paused = 0, FIRST_PAUSE, False
    while (found := _unended(target, run_id, place)) is not None:
        if found > place:
            place, pause = found, FIRST_PAUSE
            continue
        if deadline is not None and time.monotonic() + pause > deadline:
            reports = run_report(target.conninfo(), run_id)
            left = sum(report.waiting + report.running for report in reports)
            raise TimeoutError(f'{left} jobs of run "{run_id}" wait or run')
        time.sleep(pause)
        pause, has_paused = min(pause * 1.5, LONGEST_PAUSE), True
    return has_paused


def _unended(target: Target, run_id: str, place: int) -> int | None:
    with target.connect() as connection:
        [(found,)] = connection.execute(
            "select pgbaton.spark_unended(%s, %s)", [run_id, place]
        ).fetchall()
    return None if found is None else int(found)


def _ranges(target: Target, run_id: str, partitions: int) -> list[IdRange]:
    """Ranges of the run of about as many jobs, at least one for each task."""
    with target.connect() as connection:
        [(jobs,)] = connection.execute(
            "select coalesce(sum(jobs), 0) from pgbaton.spark_run(%s)", [run_id]
        ).fetchall()
        most = min(max(1, -(-int(jobs) // partitions)), MOST_JOBS_AT_ONCE)
        rows = connection.execute(
            "select first_id, last_id from pgbaton.spark_ranges(%s, %s)", [run_id, most]
        ).fetchall()
    return [IdRange(*row) for row in rows]


def _read_outcomes(
    target: Target, run_id: str, ranges: list[IdRange], numbers: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pgbaton.spark._arrow import read_batches

    schema = schema_of(OUTCOME)
    for number in (n for batch in numbers for n in batch.column(0).to_pylist()):
        query = sql.SQL("select {} from pgbaton.spark_outcomes({}, {}, {})").format(
            csv_list(schema), run_id, ranges[number].first, ranges[number].last
        )
        with target.connect() as connection:
            yield from read_batches(connection, query, schema)
