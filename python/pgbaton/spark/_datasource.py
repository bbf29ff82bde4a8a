"""The data source `format("pgbaton")`.

Rows are staged by Spark's tasks, each attempt under an id of its own, and become jobs in one
transaction of the driver that names the attempts that count. So they appear all at once, and
once: what other attempts staged is waste that run_maintenance drops.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from pgbaton.spark import _aside, _options
from pgbaton.spark._collector import spare_imports
from pgbaton.spark._columns import (
    TYPES,
    BadColumn,
    Field,
    JsonArray,
    JsonArrayDumper,
    chunks,
    fields_of,
    literals,
    shown,
)
from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import BAD_ARGUMENT, Place, Refusal, Refused, plain_errors, refusals
from pgbaton.spark._jdbc import is_connect
from pgbaton.spark._workers import require_workers

LABELS = {"priorities", "job_types", "tags"}
# How a message begins that says which row of a statement it is about.
NUMBERED = re.compile(r"^(singleton_key|dedup_id|payload) 1\b")


@plain_errors()
def register(spark: SparkSession) -> None:
    """Makes `format("pgbaton")` known to a session; on Spark Connect, to the server's.

    Call it in each thread that uses the format.

    The package must be where Spark runs its Python (`pgbaton spark-zip`). Batch and streaming
    write take the columns of the view enqueue_inbox (payload, singleton_key, priority, job_type,
    tags, run_at, dedup_id, order_no, after, on_failed) and these options:

    - `dsn`: connection string; `password`: its password, which Spark then keeps out of its plans
    - `queue`: where the jobs go
    - `run_id` (batch): name of the run; sent again under the same name it is enqueued once.
      Default a new one for each write, which still is enqueued once however often Spark repeats
      its tasks.
    - `stream_id` (streaming, required): name of the stream; each of its micro-batches is enqueued
      once

    Args:
        spark (SparkSession): the session.

    Raises:
        ImportError: Spark's Python workers have no pgbaton or no psycopg; says what to do. They
            are asked once for each session, unless they run the Python of this process.
    """
    require_workers(spark)
    spark.dataSource.register(PgbatonDataSource)
    if not is_connect(spark):
        # Spark 4.3 looks Python's data sources up in the session that is active in this thread.
        spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


class PgbatonDataSource(DataSource):
    """Jobs as a table that Spark appends to and reads."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "pgbaton"

    def schema(self) -> StructType | str:
        """What is read unless the user says otherwise."""
        from pgbaton.spark._reader import JobReader

        options = {name.lower(): value for name, value in self.options.items()}
        _options.refuse_path(options)
        return JobReader.default_schema(options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads jobs."""
        from pgbaton.spark._reader import JobReader

        return JobReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Reads jobs as they end."""
        from pgbaton.spark._stream_reader import FinishedJobStreamReader

        return FinishedJobStreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Adds a job for each row."""
        options = checked_options(self.options, overwrite, "write")
        stage = Stage.prepare(options, schema, options.get("run_id", str(uuid.uuid4())))
        return JobWriter(stage, is_micro_batch=options.get("micro_batch") == "true")

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Adds a job for each row of each micro-batch."""
        options = checked_options(self.options, overwrite, "writeStream")
        if not options.get("stream_id"):
            raise ValueError(
                'option "stream_id" is missing: name the stream, so that a micro-batch that Spark '
                "repeats after a restart is known"
            )
        return JobStreamWriter(Stage.prepare(options, schema, options["stream_id"]))


@dataclass
class Staged(WriterCommitMessage):
    """What one attempt at a partition staged, or why it did not."""

    attempt: str
    rows: int = 0
    aside_attempt: str = ""
    aside: int = 0
    aside_rows: list[str] = field(default_factory=list)  # those for a table
    refusal: str | None = None
    query_id: str | None = None  # of the stream that the rows come from


@dataclass(frozen=True)
class Stage:
    """How the tasks of one write stage their rows."""

    target: Target
    queue: str
    run_id: str
    fields: list[Field]
    aside_queue: str | None = None  # where bad rows go
    aside_table: str | None = None  # or this; with neither they are refused

    @classmethod
    def prepare(cls, options: Mapping[str, str], schema: StructType, run_id: str) -> Stage:
        """Raises what can be known before a row is looked at."""
        fields = fields_of(schema)
        with refusals():
            target = Target.resolve(options["dsn"], options.get("password"))
            with target.connect() as connection:
                requires_key = connection.execute(
                    "select pgbaton.requires_key(%s)", [options["queue"]]
                ).fetchall()
                aside = _aside_place(options, connection)
                if not any(field.parameter in LABELS for field in fields):
                    # Makes the default lane, so that not each task makes one for itself.
                    connection.execute("select pgbaton.enqueue_batch(%s, '{}')", [options["queue"]])
        if requires_key == [(True,)] and all(f.parameter != "singleton_keys" for f in fields):
            missing = Refusal(
                "PB005",
                f'there is no column "singleton_key", and "{options["queue"]}" is a FIFO queue',
                "Add it: what is to stay in order.",
            )
            raise Refused(str(missing))
        return cls(target, options["queue"], run_id, fields, *aside)

    def write(self, batches: Iterator[pa.RecordBatch]) -> Staged:
        """Runs in a task. A refusal is a result: Spark would try an exception again, and log it."""
        staged = self._stage(batches)
        spare_imports()
        return staged

    def _stage(self, batches: Iterator[pa.RecordBatch]) -> Staged:
        context = TaskContext.get()
        staged = Staged(str(uuid.uuid4()), aside_attempt=str(uuid.uuid4()))
        if context is not None:
            staged.query_id = context.getLocalProperty("sql.streaming.queryId")
        pending = chunks(batches)
        first = next(pending, None)
        if first is None:
            return staged
        part = context.partitionId() if context else 0
        try:
            with self.target.connect() as connection:
                attempt = Attempt(self, connection, staged, part)
                for chunk in chain([first], pending):
                    attempt.add(chunk)
        except RowRefused as error:
            staged.refusal = str(error.refusal)
        except psycopg.Error as error:
            staged.refusal = str(Refusal.of(error))
            if isinstance(error, psycopg.OperationalError):
                raise Refused(staged.refusal) from None  # Spark tries it again
        return staged

    def judge(self, rows: pa.RecordBatch) -> None:
        """Raises RowRefused for the first row that would be refused; stages nothing."""
        with self.target.connect() as connection:
            attempt = Attempt(self, connection, Staged(str(uuid.uuid4())), 0)
            for chunk in chunks(iter([rows])):
                attempt.add(chunk)
            connection.rollback()

    def statement(self, part: int) -> sql.Composed:
        """Stages a chunk of this part, of an attempt and a number that are left open."""
        arguments = [
            sql.SQL("{} => %s::").format(sql.Identifier(f.parameter)) + sql.SQL(TYPES[f.parameter])
            for f in self.fields
        ]
        # The commit of the run waits for the disk, and all that was staged is there before it.
        return sql.SQL(
            "select set_config('synchronous_commit', 'off', true), "
            "pgbaton.spark_stage(run_id => {}, attempt => %s, part => {}, chunk_no => %s, "
            "queue => {}, {})"
        ).format(
            sql.Literal(self.run_id),
            sql.Literal(part),
            sql.Literal(self.queue),
            sql.SQL(", ").join(arguments),
        )

    def commit(self, messages: Sequence[Any], run_id: str, is_micro_batch: bool) -> None:
        staged = [message for message in messages if message is not None]
        for message in staged:
            if message.refusal:
                raise Refused(message.refusal)
        origin = None
        if is_micro_batch:
            if not staged:
                return
            # Spark may compute it anew, and find other rows. The id of its query lasts as long as
            # its checkpoint; with another one the same number is another micro-batch. So it is in
            # another queue. On Spark Connect foreachBatch writes outside the stream: no id.
            origin = f"stream {staged[0].query_id or 'of unknown id'} into {self.queue}"
        commits = [[run_id, [m.attempt for m in staged], sum(m.rows for m in staged), origin]]
        if self.aside_queue is not None:
            aside = [m for m in staged if m.aside]
            attempts = [m.aside_attempt for m in aside]
            commits.append([aside_run_id(run_id), attempts, sum(m.aside for m in aside), origin])
        aside_rows = [row for message in staged for row in message.aside_rows]
        with refusals():
            try:
                self._commit(commits, aside_rows)
            except psycopg.OperationalError:
                # Nobody knows whether it was committed: this one does.
                self._commit(commits, aside_rows)

    def _commit(self, commits: list[list[Any]], aside_rows: list[str]) -> None:
        """All in one transaction."""
        with self.target.connect() as connection:
            already = 0
            for given in commits:
                [(found,)] = connection.execute(
                    "select already from pgbaton.spark_commit(%s, %s::uuid[], %s, %s)", given
                ).fetchall()
                already += found
            # After that: another commit of the run was waited for.
            if aside_rows and self.aside_table and already == 0:
                _aside.insert(connection, self.aside_table, commits[0][0], aside_rows)

    def abort(self) -> None:
        """Only tidies up, so what keeps it from that is no error; run_maintenance does it later."""
        try:
            with self.target.connect() as connection:
                for run_id in (self.run_id, aside_run_id(self.run_id)):
                    connection.execute("select pgbaton.spark_abort(%s)", [run_id])
        except psycopg.OperationalError:
            return


class RowRefused(Exception):
    """The database, or this package, does not take some row."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class Attempt:
    """One attempt at a partition, in one transaction."""

    def __init__(
        self,
        stage: Stage,
        connection: psycopg.Connection[Any],
        staged: Staged,
        part: int,
    ) -> None:
        connection.adapters.register_dumper(JsonArray, JsonArrayDumper)
        self._stage = stage
        self._connection = connection
        self._staged = staged
        self._part = part
        self._statement = stage.statement(part)
        self._begin()
        self._rows = 0  # that were looked at
        self._kept = 0  # characters of bad rows
        self._chunks = count()

    def add(self, chunk: pa.RecordBatch) -> None:
        """Stages the rows, or raises RowRefused, or puts aside those that are bad."""
        if self._stage.aside_queue or self._stage.aside_table:
            self._add_the_good(chunk)
        else:
            try:
                self._send(chunk)
            except (BadColumn, psycopg.DatabaseError) as error:
                refusal = _refusal(error)
                if not refusal.is_of_a_row:
                    raise
                self._connection.rollback()
                self._begin()
                raise RowRefused(self._first_bad(chunk, refusal)) from None
            self._rows += chunk.num_rows

    def _begin(self) -> None:
        """Else NULL in an array might be a text. For this transaction: a pooler may be between."""
        self._connection.execute("set local array_nulls = on")

    def _send(self, chunk: pa.RecordBatch) -> None:
        arrays = literals(self._stage.fields, chunk).values()
        given = [self._staged.attempt, next(self._chunks), *arrays]
        self._connection.execute(self._statement, given, prepare=False)
        self._staged.rows += chunk.num_rows

    def _first_bad(self, chunk: pa.RecordBatch, whole: Refusal) -> Refusal:
        """Why the first of the bad rows is refused, found by halves, and where it is."""
        start, rows = 0, chunk.num_rows
        while rows > 1:
            half = rows // 2
            if self._try(chunk.slice(start, half)) is None:
                start, half = start + half, rows - half
            rows = half
        refusal = self._try(chunk.slice(start, 1))
        if refusal is None:
            return whole  # each row by itself is all right
        return replace(refusal, place=Place(self._rows + start + 1, self._part))

    def _try(self, chunk: pa.RecordBatch) -> Refusal | None:
        try:
            with self._connection.transaction(force_rollback=True):
                self._send(chunk)
        except (BadColumn, psycopg.DatabaseError) as error:
            return _alone(_refusal(error))
        return None

    def _add_the_good(self, chunk: pa.RecordBatch) -> None:
        try:
            with self._connection.transaction():
                self._send(chunk)
        except (BadColumn, psycopg.DatabaseError) as error:
            refusal = _refusal(error)
            if not refusal.is_of_a_row:
                raise
        else:
            self._rows += chunk.num_rows
            return
        if chunk.num_rows > 1:
            half = chunk.num_rows // 2
            self._add_the_good(chunk.slice(0, half))
            self._add_the_good(chunk.slice(half))
        else:
            self._rows += 1
            self._put_aside(chunk, _alone(refusal))

    def _put_aside(self, row: pa.RecordBatch, refusal: Refusal) -> None:
        payload = {
            "queue": self._stage.queue,
            "run_id": self._stage.run_id,
            "reason": refusal.message,
            "sqlstate": refusal.sqlstate,
            "partition": self._part,
            "row": self._rows,
            "columns": {
                field.column: shown(row.column(field.index)) for field in self._stage.fields
            },
        }
        self._staged.aside += 1
        if self._stage.aside_table:
            self._keep(json.dumps(payload))
            return
        self._connection.execute(
            "select pgbaton.spark_stage(%s, %s, %s, %s, %s, array[%s::jsonb])",
            [
                aside_run_id(self._stage.run_id), self._staged.aside_attempt, self._part,
                self._staged.aside, self._stage.aside_queue, json.dumps(payload),
            ],
        )  # fmt: skip

    def _keep(self, row: str) -> None:
        """For the commit, which inserts it."""
        self._kept += len(row)
        if self._kept > _aside.MOST_CHARACTERS:
            raise RowRefused(_aside.too_many())
        self._staged.aside_rows.append(row)


def _refusal(error: BadColumn | psycopg.DatabaseError) -> Refusal:
    if isinstance(error, BadColumn):
        return Refusal(BAD_ARGUMENT, str(error))
    if isinstance(error, psycopg.OperationalError):
        raise error
    return Refusal.of(error)


def _alone(refusal: Refusal) -> Refusal:
    """Without the number that the row had in a statement of one."""
    message = refusal.message.replace(", row 1)", ")").removesuffix(" (row 1)")
    return replace(refusal, message=NUMBERED.sub(r"\1", message))


def _aside_place(
    options: Mapping[str, str], connection: psycopg.Connection[Any]
) -> tuple[str | None, str | None]:
    """The queue and the table for bad rows; neither if they are refused.

    Raises:
        ValueError: the options contradict each other.
    """
    queue, table = options.get("bad_rows_queue"), options.get("bad_rows_table")
    if _options.one_of(options, "on_bad_rows", ("fail", "aside")) == "fail":
        if queue or table:
            raise ValueError("options bad_rows_queue and bad_rows_table need on_bad_rows=aside")
        return None, None
    if table and not queue:
        _aside.check_table(connection, table)
        return None, table
    if table or not queue or queue == options["queue"]:
        raise ValueError(
            "on_bad_rows=aside needs bad_rows_queue, another queue to put them into, or "
            "bad_rows_table"
        )
    if connection.execute("select pgbaton.requires_key(%s)", [queue]).fetchone() == (True,):
        raise ValueError(f'"{queue}" is a FIFO queue, and bad rows may have no key: name another')
    connection.execute("select pgbaton.enqueue_batch(%s, '{}')", [queue])
    return queue, None


def aside_run_id(run_id: str) -> str:
    """The run that the bad rows of a run are."""
    return f"{run_id} aside"


class JobWriter(DataSourceArrowWriter):
    """One DataFrame, enqueued once."""

    def __init__(self, stage: Stage, is_micro_batch: bool) -> None:
        self.stage = stage
        self.is_micro_batch = is_micro_batch

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        return self.stage.write(iterator)

    def commit(self, messages: Sequence[Any]) -> None:
        self.stage.commit(messages, self.stage.run_id, self.is_micro_batch)

    def abort(self, messages: Sequence[Any]) -> None:
        self.stage.abort()


class JobStreamWriter(DataSourceStreamArrowWriter):
    """A stream whose micro-batches are each enqueued once."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        return self.stage.write(iterator)

    def commit(self, messages: Sequence[Any], batchId: int) -> None:
        self.stage.commit(messages, batch_run_id(self.stage.run_id, batchId), is_micro_batch=True)

    def abort(self, messages: Sequence[Any], batchId: int) -> None:
        self.stage.abort()


def batch_run_id(stream_id: str, batch_id: int) -> str:
    """The run that one micro-batch is."""
    return f"{stream_id}:{batch_id}"


def checked_options(
    options: Mapping[str, str], overwrite: bool, use: _options.Use
) -> dict[str, str]:
    """The options of a write by their lower-case names.

    Raises:
        ValueError: one that does not exist, or is missing; overwrite.
    """
    given = _options.checked(options, use)
    if overwrite:
        raise ValueError('jobs are never overwritten: use mode("append")')
    for name in ("dsn", "queue"):
        _options.required(given, name)
    return given
