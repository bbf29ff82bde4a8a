"""Jobs are claimed on the driver, worked off by Spark's tasks, and settled on the driver."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructType,
    VariantType,
)

from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import (
    in_our_words,
    other_pythons_noted,
    plain_errors,
    raise_database_error,
)
from pgbaton.spark._ranges import DEFAULT_PARTITIONS, check_partitions
from pgbaton.spark._rows import as_json
from pgbaton.spark._views import CLAIMED, csv_list, schema_of
from pgbaton.spark._workers import require_workers

if TYPE_CHECKING:
    import pyarrow as pa

# The most that claim_job_batch takes.
MOST_OF_A_CLAIM = 100_000
STATEMENT_JOBS = 5_000
COMPLETE = (
    "select job_id, verdict"
    " from pgbaton.complete_jobs(%(ids)s, %(token)s, %(values)b::text[]::jsonb[])"
)
FAIL = (
    "select job_id, verdict from pgbaton.fail_jobs(%(ids)s, %(values)s, %(token)s, %(retryable)s)"
)
RELEASE = "select job_id, verdict from pgbaton.release_jobs(%(ids)s, %(token)s)"
EXTEND = "select job_id, verdict from pgbaton.extend_leases(%(ids)s, %(token)s, %(lease)s)"
log = logging.getLogger("pgbaton.spark")


@dataclass(frozen=True)
class Bucket:
    """What one task reads: a range of ids of one claim."""

    lease_token: int
    first: int
    last: int


@dataclass(frozen=True)
class Settled:
    """What became of the jobs of an `ack` or `fail`."""

    done: int
    """Ended, or failed, by this call."""
    already: int
    """Not running any more: settled before, for example by the same call."""
    lost: int
    """Somebody else's since their lease ended."""


@plain_errors()
def claim(
    spark: SparkSession,
    dsn: str,
    queues: str | Sequence[str] | None,
    n: int,
    *,
    worker_id: str | None = None,
    job_types: Sequence[str] | None = None,
    tags: Sequence[str] = (),
    lease: timedelta | None = None,
    partitions: int = DEFAULT_PARTITIONS,
) -> Claim:
    """Claims up to n jobs for this Spark application, in one transaction of the driver.

    Args:
        spark (SparkSession): where the jobs are worked off.
        dsn (str): connection string or URL of a role that is in pgbaton_worker.
        queues (str | list[str]): where from; None is all queues. At most one job of a FIFO key is
            claimed.
        n (int): jobs at most.
        worker_id (str): name of the worker; default "spark-" and a random text.
        job_types (list[str]): only these; default all.
        tags (list[str]): only jobs that carry all of them.
        lease (timedelta): how long the jobs are held, and again with each heartbeat; default the
            queue's.
        partitions (int): how many tasks read the jobs side by side.

    Returns:
        Claim: the jobs, and how to settle them. Use it as a context manager: jobs that are not
        settled at its end are given back.

    Raises:
        ValueError: n or partitions is below 1.
        UnknownQueue: there is no such queue.
        ImportError: Spark's Python workers have no pgbaton or no psycopg; nothing is claimed.
    """
    if n < 1:
        raise ValueError(f"n is {n}: pass at least 1")
    check_partitions(partitions)
    require_workers(spark)
    target = Target.resolve(dsn)
    name = worker_id or f"spark-{uuid.uuid4().hex[:12]}"
    wanted = [queues] if isinstance(queues, str) else queues
    filters = (
        None if wanted is None else list(wanted),
        None if job_types is None else list(job_types),
        list(tags),
    )
    tokens: dict[int, int] = {}
    periods: set[timedelta] = set()
    with target.connect() as connection:
        while len(tokens) < n:
            rows = connection.execute(
                "select id, lease_token, lease_until - claimed_at"
                " from pgbaton.claim_job_batch(%s, %s, %s, %s, %s, %s)",
                [name, *filters, min(n - len(tokens), MOST_OF_A_CLAIM), lease],
                binary=True,  # a text of an interval depends on IntervalStyle
            ).fetchall()
            if not rows:
                break
            tokens.update((job_id, token) for job_id, token, _ in rows)
            periods.update(period for _, _, period in rows)
    return Claim(spark, target, name, tokens, lease, min(periods, default=None), partitions)


class Claim:
    """Jobs that this application holds until they are settled, or their lease ends.

    A thread on the driver extends the lease of jobs that are not settled yet.
    """

    jobs: DataFrame
    """The jobs, payload as JSON text. Every action reads those that are still held."""
    worker_id: str
    """Under which the jobs were claimed."""

    def __init__(
        self,
        spark: SparkSession,
        target: Target,
        worker_id: str,
        tokens: dict[int, int],
        lease: timedelta | None,
        period: timedelta | None,
        partitions: int,
    ) -> None:
        self.worker_id = worker_id
        self._target = target
        self._tokens = tokens
        self._open = set(tokens)
        self._settled: set[int] = set()
        self._cancelled: set[int] = set()
        self._lease = lease
        self._changing = threading.Lock()
        self._stop = threading.Event()
        buckets = _buckets(tokens, partitions)
        self.jobs = spark.range(0, len(buckets), 1, max(1, len(buckets))).mapInArrow(
            partial(_read_buckets, target, buckets), schema_of(CLAIMED)
        )
        if period is not None:
            seconds = period.total_seconds() / 3
            name = f"pgbaton claim {worker_id}"
            threading.Thread(
                target=self._heartbeat, args=(seconds,), name=name, daemon=True
            ).start()

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def __len__(self) -> int:
        """How many jobs were claimed."""
        return len(self._tokens)

    @property
    def open_ids(self) -> frozenset[int]:
        """The jobs that are neither settled nor lost, as far as is known here."""
        return frozenset(self._open)

    @property
    def cancelled_ids(self) -> frozenset[int]:
        """The jobs whose cancellation was asked for, as of the last heartbeat."""
        return frozenset(self._cancelled)

    def ack(self, df: DataFrame) -> Settled:
        """Completes the jobs of a DataFrame, once all of it has been computed.

        Nothing is completed when computing it fails. To repeat the call is harmless.

        Args:
            df (DataFrame): id (bigint), and if there is one a result: JSON text, struct, map,
                array or variant. Its ids and results are collected on the driver.

        Returns:
            Settled: done, already settled before, and lost to somebody else.

        Raises:
            ValueError: no column id, an id that is null or not of this claim, or two results for
                one job; nothing is completed.
            psycopg.Error: the database refused; nothing is completed.
        """
        columns = [_ids(df)]
        if "result" in df.columns:
            columns.append(_json(df, "result"))
        found = self._collect(df.select(*columns), "result")
        return self._settle(COMPLETE, found)

    def fail(self, df: DataFrame, *, retryable: bool = True) -> Settled:
        """Fails the attempt of the jobs of a DataFrame, once all of it has been computed.

        Args:
            df (DataFrame): id (bigint) and error (string), what went wrong.
            retryable (bool): whether another attempt makes sense; default True.

        Returns:
            Settled: as for ack.

        Raises:
            ValueError: a column is missing or null, an id is not of this claim, or there are two
                errors for one job; nothing is changed.
            psycopg.Error: the database refused; nothing is changed.
        """
        found = self._collect(df.select(_ids(df), _existing(df, "error").cast("string")), "error")
        if not all(found.values()):
            raise ValueError('column "error" is null or empty in some row: say what went wrong')
        return self._settle(FAIL, found, retryable=retryable)

    def release(self) -> int:
        """Gives back all that is not settled, without counting the attempt; ends the heartbeat.

        Returns:
            int: how many jobs; those that were lost meanwhile do not count.
        """
        self._stop.set()
        return self._settle(RELEASE, dict.fromkeys(self._open)).done

    def _collect(self, rows: DataFrame, name: str) -> dict[int, str | None]:
        """The value of each job, from (id) or (id, value)."""
        found: dict[int, str | None] = {}
        with other_pythons_noted():
            collected = rows.collect()
        for job_id, *values in collected:
            if job_id is None:
                raise ValueError('column "id" is null in some row')
            if job_id not in self._tokens:
                raise ValueError(f"job {job_id} is not of this claim")
            value = values[0] if values else None
            if value is not None and "\0" in value:
                raise ValueError(f'column "{name}" holds a NUL character, which PostgreSQL cannot')
            if found.setdefault(job_id, value) != value:
                raise ValueError(f"job {job_id} comes twice, with different values")
        return found

    def _settle(self, statement: str, values: dict[int, str | None], **more: object) -> Settled:
        """All in one transaction."""
        with self._changing:
            try:
                with self._target.connect() as connection:
                    verdicts = dict(self._call(connection, statement, values, **more))
            except psycopg.Error as error:
                # Without the detail, which may quote a result.
                raise_database_error(error.sqlstate, _message(error), error.diag.message_hint)
            self._open -= values.keys()
            for job_id in verdicts.keys() & self._settled:
                verdicts[job_id] = "settled"  # what failed may be anybody's by now
            if statement != RELEASE:
                self._settled |= {job_id for job_id, verdict in verdicts.items() if verdict == "ok"}
        counts = Counter(verdicts.values())
        lost = counts["lease_lost"] + counts["not_found"]
        return Settled(counts["ok"], counts["invalid_state"] + counts["settled"], lost)

    def _call(
        self,
        connection: psycopg.Connection[Any],
        statement: str,
        values: dict[int, str | None],
        **more: object,
    ) -> Iterator[tuple[int, str]]:
        """The verdict of each job, claim by claim and in the order of their ids."""
        by_token = defaultdict(list)
        for job_id in sorted(values):
            by_token[self._tokens[job_id]].append(job_id)
        for token, held in by_token.items():
            for start in range(0, len(held), STATEMENT_JOBS):
                ids = held[start : start + STATEMENT_JOBS]
                found = [values[job_id] for job_id in ids]
                # A list of nulls alone would be a text, which depends on array_nulls.
                given = {"ids": ids, "token": token, "values": found if any(found) else None}
                yield from connection.execute(statement, given | more)

    def _heartbeat(self, seconds: float) -> None:
        while self._open and not self._stop.wait(seconds):
            try:
                self._extend()
            except psycopg.Error as error:  # a standby that reads only is no OperationalError
                # Tried again; what is lost meanwhile is told by the verdicts of ack.
                log.warning("pgbaton: leases of %s were not extended: %s", self.worker_id, error)

    def _extend(self) -> None:
        with self._changing:
            if not self._open:
                return
            with self._target.connect() as connection:
                held = dict.fromkeys(self._open)
                verdicts = dict(self._call(connection, EXTEND, held, lease=self._lease))
            for job_id, verdict in verdicts.items():
                if verdict == "cancel_requested":
                    self._cancelled.add(job_id)
                elif verdict != "ok":
                    self._open.discard(job_id)


def _buckets(tokens: dict[int, int], partitions: int) -> list[Bucket]:
    """The jobs of each claim in equal parts, by their ids."""
    by_token = defaultdict(list)
    for job_id in sorted(tokens):
        by_token[tokens[job_id]].append(job_id)
    size = max(1, -(-len(tokens) // partitions))
    return [
        Bucket(token, ids[start], ids[min(start + size, len(ids)) - 1])
        for token, ids in by_token.items()
        for start in range(0, len(ids), size)
    ]


def _read_buckets(
    target: Target, buckets: list[Bucket], numbers: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pgbaton.spark._arrow import read_batches

    schema = schema_of(CLAIMED)
    for number in (n for batch in numbers for n in batch.column(0).to_pylist()):
        bucket = buckets[number]
        query = sql.SQL("select {} from pgbaton.claimed_jobs({}, {}, {})").format(
            csv_list(schema), bucket.lease_token, bucket.first, bucket.last
        )
        with target.connect() as connection:
            yield from read_batches(connection, query, schema)


def _ids(df: DataFrame) -> Column:
    column = _existing(df, "id")
    kind = df.schema["id"].dataType
    if not isinstance(kind, IntegralType):
        raise ValueError(f"id is a column of {kind.simpleString()}: pass one of bigint")
    return column


def _json(df: DataFrame, name: str) -> Column:
    kind = df.schema[name].dataType
    if isinstance(kind, StringType | NullType):
        return F.col(name)
    if isinstance(kind, StructType | MapType | ArrayType | VariantType):
        return as_json(F.col(name), kind, name)
    raise ValueError(
        f"{name} is a column of {kind.simpleString()}: pass one of JSON text, of a struct, map, "
        "array or variant"
    )


def _existing(df: DataFrame, name: str) -> Column:
    if name not in df.columns:
        raise ValueError(f'the DataFrame has no column "{name}", but {", ".join(df.columns)}')
    return F.col(name)


def _message(error: psycopg.Error) -> str:
    return in_our_words(error.sqlstate, error.diag.message_primary or str(error), "result")
