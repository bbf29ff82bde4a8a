"""A DataFrame becomes jobs."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import psycopg
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pgbaton.errors import KeyRequired
from pgbaton.spark import _jdbc
from pgbaton.spark._datasource import batch_run_id, register
from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import Refusal, other_pythons_noted
from pgbaton.spark._ranges import check_partitions
from pgbaton.spark._rows import STRIPES, ColumnOrName, Wanted, job_rows

Method: TypeAlias = Literal["jdbc", "datasource"]

# Above that a queue refuses by default, whoever makes them.
MOST_LANES = 10_000
LANE = {"priority": "integer", "job_type": "text", "tags": "text[]"}
TEXTS = ("payload", "singleton_key", "job_type", "dedup_id")
NUL = "\0"


@dataclass(frozen=True)
class Part:
    """What became of one transaction of a run."""

    part: int
    inserted: int
    deduped: int
    already: int


@dataclass(frozen=True)
class Enqueued:
    """What `enqueue` did."""

    run_id: str
    inserted: int
    """Jobs that this call added."""
    deduped: int
    """Rows that it left out, since the queue knows their dedup id."""
    already: int
    """Jobs that an earlier call had added under this run_id."""
    parts: tuple[Part, ...]
    """The same for each transaction: one for each partition that holds rows, or one for all."""
    seconds: float
    method: Method


def enqueue(
    df: DataFrame,
    dsn: str,
    queue: str,
    *,
    payload: ColumnOrName | Sequence[str] | None = None,
    key: ColumnOrName | None = None,
    order_by: ColumnOrName | Sequence[ColumnOrName] | None = None,
    priority: int | ColumnOrName | None = None,
    job_type: ColumnOrName | None = None,
    tags: Sequence[str] | ColumnOrName | None = None,
    run_at: ColumnOrName | None = None,
    dedup: ColumnOrName | None = None,
    run_id: str | None = None,
    partitions: int = 8,
    method: Method | None = None,
) -> Enqueued:
    """Adds one job for each row, once, however often Spark repeats its tasks.

    Args:
        df (DataFrame): the rows.
        dsn (str): connection string or URL, as psycopg takes it.
        queue (str): where the jobs go.
        payload (Column | str | list[str]): one column: JSON text, or a struct, map, array or
            variant; a list: these columns as one object; left out: all columns as one object.
            Timestamps become ISO 8601 in UTC, nulls stay, NaN becomes the text "NaN".
        key (Column | str): the singleton_key; required in a FIFO queue. Its text is the key.
        order_by (Column | str | list): order of the jobs of one key, nulls first. Rows that are
            equal in it, or all if it is left out, keep the order of the DataFrame.
        priority (int | Column | str): one for all or a column of whole numbers; default 100.
        job_type (Column | str): a column of text; default "".
        tags (list[str] | Column | str): the same for all, or a column of array<string>.
        run_at (Column | str): a column of timestamps before which the jobs do not run; null is at
            once.
        dedup (Column | str): the dedup_id; a row whose id the queue knows becomes no job.
        run_id (str): name of this run; called again with the same name and data, what is enqueued
            is not enqueued again. Default a new one.
        partitions (int): how many connections at most write side by side, as far as Spark has
            cores; a run that is called again must have the same with method "jdbc".
        method (str): "datasource", all at once in one transaction, through this package on Spark's
            workers; "jdbc", one transaction for each partition, through PostgreSQL's JDBC driver.
            Default "jdbc" where there is a driver.

    Returns:
        Enqueued: how many jobs were added, how many rows were not, and why.

    Raises:
        ValueError: a column that is not there or of the wrong type, no partitions, order_by
            without a key, or method "jdbc" where there is no driver.
        UnknownQueue: there is no such queue.
        KeyRequired: a FIFO queue and no key, or a row whose key is null or empty; nothing is
            enqueued.
        RunExists: the run_id stands for other data, or for the same in other partitions.
        psycopg.Error: the database refused a row; what it said, without the row. With "jdbc" the
            partitions that are done stay, and a call with the same run_id adds the rest.
    """
    wanted = Wanted(payload, key, order_by, priority, job_type, tags, run_at, dedup)
    return _enqueue(df, dsn, queue, wanted, run_id, partitions, method)


def foreach_batch(
    queue: str,
    dsn: str,
    stream_id: str,
    *,
    payload: ColumnOrName | Sequence[str] | None = None,
    key: ColumnOrName | None = None,
    order_by: ColumnOrName | Sequence[ColumnOrName] | None = None,
    priority: int | ColumnOrName | None = None,
    job_type: ColumnOrName | None = None,
    tags: Sequence[str] | ColumnOrName | None = None,
    run_at: ColumnOrName | None = None,
    dedup: ColumnOrName | None = None,
    partitions: int = 8,
) -> Callable[[DataFrame, int], None]:
    """For `writeStream.foreachBatch`: each micro-batch is enqueued once, also when it comes again.

    Args:
        queue (str): where the jobs go.
        dsn (str): connection string or URL, as psycopg takes it.
        stream_id (str): name of the stream. A stream that starts over with a new checkpoint needs
            a new name, since its batches are numbered anew; so does a second write of its batches.
        payload, key, order_by, priority, job_type, tags, run_at, dedup, partitions: as in
            `enqueue`.

    Returns:
        Callable: takes the DataFrame and the number of a batch. Raises what `enqueue` raises,
            and then Spark stops the stream.
    """
    wanted = Wanted(payload, key, order_by, priority, job_type, tags, run_at, dedup)

    def write(df: DataFrame, batch_id: int) -> None:
        run_id = batch_run_id(stream_id, batch_id)
        _enqueue(df, dsn, queue, wanted, run_id, partitions, "datasource", is_micro_batch=True)

    return write


def _enqueue(
    df: DataFrame,
    dsn: str,
    queue: str,
    wanted: Wanted,
    run_id: str | None,
    partitions: int,
    method: Method | None,
    is_micro_batch: bool = False,
) -> Enqueued:
    started = time.monotonic()
    check_partitions(partitions)
    if df.isStreaming:
        raise ValueError("the DataFrame is a stream: pass foreach_batch() to its writeStream")
    if method not in (None, "jdbc", "datasource"):
        raise ValueError(f'method is "{method}": pass "jdbc" or "datasource"')
    rows = job_rows(df, wanted, partitions, is_repeatable=run_id is not None)
    run = Run(Target.resolve(dsn), queue, str(uuid.uuid4() if run_id is None else run_id))
    if run.requires_key() and wanted.key is None:
        raise KeyRequired(f'queue "{queue}" is a FIFO queue: pass key, the column to keep in order')

    method = _choose_method(df, run.target, method)
    before = run.done()
    if method == "jdbc":
        parts = min(partitions, STRIPES) if wanted.key is not None else partitions
        _by_jdbc(rows, run, parts, is_named=run_id is not None)
    else:
        _by_datasource(rows, run, is_micro_batch)
    return _result(run, before, time.monotonic() - started, method)


@dataclass(frozen=True)
class Run:
    """One run on its way into a queue."""

    target: Target
    queue: str
    run_id: str

    def requires_key(self) -> bool:
        [(requires_key,)] = self.ask("select pgbaton.requires_key(%s)", self.queue)
        return bool(requires_key)

    def done(self) -> dict[int, tuple[int, int]]:
        """Jobs and duplicates of what is enqueued of it, by part."""
        rows = self.ask("select part, jobs, duplicates from pgbaton.spark_run(%s)", self.run_id)
        return {part: (jobs, duplicates) for part, jobs, duplicates in rows}

    def ask(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with self.target.connect() as connection:
            return connection.execute(statement, arguments).fetchall()


def _choose_method(df: DataFrame, target: Target, wanted: Method | None) -> Method:
    if wanted == "datasource":
        return wanted
    obstacle = target.jdbc_obstacle() or _jdbc.load_driver(df.sparkSession)
    # Only the server of Spark Connect knows: who asks for it may know too.
    if obstacle is None or (wanted == "jdbc" and _jdbc.is_connect(df.sparkSession)):
        return "jdbc"
    if wanted == "jdbc":
        raise ValueError(f'method "jdbc" cannot be used: {obstacle}')
    print(f"pgbaton: enqueuing through the data source: {obstacle}", file=sys.stderr)
    return "datasource"


def _by_jdbc(rows: DataFrame, run: Run, parts: int, is_named: bool) -> None:
    """Each partition is one transaction, in which the ledger notes that it is done.

    The DataFrame is computed once and kept (memory, then disk) until it is written: what is wrong
    with it is found before the first partition commits.
    """
    rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        fingerprint = _check_rows(rows, run, is_named)
        run.ask("select pgbaton.spark_begin(%s, %s, %s)", run.run_id, parts, fingerprint)
        _make_lanes(rows, run)
        _write_parts(rows, run, parts, is_named)
    finally:
        rows.unpersist()


def _write_parts(rows: DataFrame, run: Run, parts: int, is_named: bool) -> None:
    added = {
        "queue": F.lit(run.queue),
        "run_id": F.lit(run.run_id),
        "part": F.spark_partition_id(),
        "parts": F.lit(parts),
    }
    try:
        _jdbc.write(rows.withColumns(added), run.target)
    except psycopg.Error as error:
        if is_named:
            error.add_note("Partitions that are done stay: the same run_id again adds the rest.")
        raise


def _by_datasource(rows: DataFrame, run: Run, is_micro_batch: bool) -> None:
    register(rows.sparkSession)
    writer = rows.write.format("pgbaton").mode("append")
    options = {
        "dsn": run.target.conninfo(with_password=False),
        "password": run.target.password or "",
        "queue": run.queue,
        "run_id": run.run_id,
        "micro_batch": str(is_micro_batch).lower(),
    }
    try:
        with other_pythons_noted():
            writer.options(**options).save()
    except PySparkException as error:
        refusal = Refusal.in_text(str(error))
        if refusal is None:
            raise
    else:
        return
    refusal.throw()


def _check_rows(rows: DataFrame, run: Run, is_named: bool) -> str | None:
    """Raises if a row has no key or payload, or a text that PostgreSQL cannot store.

    Of a run that can be repeated it returns what the rows look like, whatever their order.
    """
    has_key = F.col("singleton_key") != "" if "singleton_key" in rows.columns else F.lit(True)
    wanted = [
        F.count(F.lit(1)).alias("rows"),
        F.count_if(~F.coalesce(has_key, F.lit(False))).alias("keyless"),
        F.count_if(F.col("payload").isNull()).alias("without_payload"),
    ]
    texts = [name for name in TEXTS if name in rows.columns]
    wanted += [F.count_if(_is_unfit(name)).alias(f"unfit_{name}") for name in texts]
    if is_named:
        wanted.append(F.sum(F.hash(*rows.columns)).alias("sum"))
        wanted.append(F.bit_xor(F.xxhash64(*rows.columns)).alias("xor"))
    found = rows.agg(*wanted).first()
    if found is None:
        raise RuntimeError("Spark counted nothing")
    if found["keyless"] and run.requires_key():
        raise KeyRequired(
            f'{found["keyless"]} of {found["rows"]} rows have no key, and "{run.queue}" is a FIFO '
            "queue: filter them out, or enqueue them into another queue"
        )
    if found["without_payload"]:
        raise psycopg.errors.NullValueNotAllowed(
            f'column "payload" is null in {found["without_payload"]} of {found["rows"]} rows'
        )
    for name in texts:
        if unfit := found[f"unfit_{name}"]:
            raise psycopg.errors.CharacterNotInRepertoire(
                f'column "{name}" holds a NUL character, or bytes that are not UTF-8, in {unfit} '
                f"of {found['rows']} rows"
            )
    return f"{run.queue} {found['rows']} {found['sum']} {found['xor']}" if is_named else None


def _is_unfit(name: str) -> Column:
    """PostgreSQL refuses NUL, and Java would send two texts that are not UTF-8 as the same."""
    unfit = ~F.is_valid_utf8(name)
    # The payloads are most of what there is to look at, and in JSON the database finds NUL.
    return unfit if name == "payload" else unfit | F.contains(F.col(name), F.lit(NUL))


def _make_lanes(rows: DataFrame, run: Run) -> None:
    """Commits the lanes that the rows need, so that not each partition makes them for itself."""
    columns = [name for name in LANE if name in rows.columns]
    lanes = rows.select(*columns).distinct().limit(MOST_LANES).collect() if columns else []
    with run.target.connect() as connection:
        for lane in lanes or [{}]:
            given = lane.asDict() if columns else {}
            names = "".join(f", {name} => %({name})s::{LANE[name]}" for name in given)
            statement = f"select pgbaton.enqueue_batch(%(queue)s, '{{}}'{names})"
            try:
                connection.execute(statement, {"queue": run.queue, **given})
            except psycopg.errors.NumericValueOutOfRange as error:
                Refusal.of(error).throw()


def _result(
    run: Run, before: dict[int, tuple[int, int]], seconds: float, method: Method
) -> Enqueued:
    parts = tuple(
        Part(part, 0, 0, jobs) if part in before else Part(part, jobs, duplicates, 0)
        for part, (jobs, duplicates) in sorted(run.done().items())
    )
    return Enqueued(
        run.run_id,
        sum(part.inserted for part in parts),
        sum(part.deduped for part in parts),
        sum(part.already for part in parts),
        parts,
        seconds,
        method,
    )
