"""The data source `format("pgbaton")`.

Rows are staged by Spark's tasks, each attempt under an id of its own, and become jobs in one
transaction of the driver that names the attempts that count. So they appear all at once, and
once: what other attempts staged is waste that run_maintenance drops.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
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
)
from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import BAD_ARGUMENT, Refusal, Refused
from pgbaton.spark._jdbc import is_connect

LABELS = {"priorities", "job_types", "tags"}
WRITE_OPTIONS = {"dsn", "password", "queue", "run_id", "stream_id", "micro_batch"}


def register(spark: SparkSession) -> None:
    """Makes `format("pgbaton")` known to a session; on Spark Connect, to the server's.

    Call it in each thread that uses the format.

    The package must be installed where Spark runs its Python. Batch and streaming write take the
    columns of the view enqueue_inbox (payload, singleton_key, priority, job_type, tags, run_at,
    dedup_id, order_no) and these options:

    - `dsn`: connection string; `password`: its password, which Spark then keeps out of its plans
    - `queue`: where the jobs go
    - `run_id` (batch): name of the run; sent again under the same name it is enqueued once.
      Default a new one for each write, which still is enqueued once however often Spark repeats
      its tasks.
    - `stream_id` (streaming, required): name of the stream; each of its micro-batches is enqueued
      once

    Args:
        spark (SparkSession): the session.
    """
    spark.dataSource.register(PgbatonDataSource)
    if not is_connect(spark):
        # Spark 4.3 looks Python's data sources up in the session that is active in this thread.
        spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
    # Without it Spark refuses to read from a source that could answer filters itself.
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


class PgbatonDataSource(DataSource):
    """Jobs as a table that Spark appends to and reads."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "pgbaton"

    def schema(self) -> StructType | str:
        """What is read unless the user says otherwise."""
        from pgbaton.spark._reader import JobReader

        return JobReader.default_schema(self.options)

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
        options = checked_options(self.options, overwrite, unused={"stream_id"})
        stage = Stage.prepare(options, schema, options.get("run_id", str(uuid.uuid4())))
        return JobWriter(stage, is_micro_batch=options.get("micro_batch") == "true")

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Adds a job for each row of each micro-batch."""
        options = checked_options(self.options, overwrite, unused={"run_id", "micro_batch"})
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
    refusal: str | None = None
    query_id: str | None = None  # of the stream that the rows come from


@dataclass(frozen=True)
class Stage:
    """How the tasks of one write stage their rows."""

    target: Target
    queue: str
    run_id: str
    fields: list[Field]

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
        return cls(target, options["queue"], run_id, fields)

    def write(self, batches: Iterator[pa.RecordBatch]) -> Staged:
        """Runs in a task. A refusal is a result: Spark would try an exception again, and log it."""
        staged = self._stage(batches)
        spare_imports()
        return staged

    def _stage(self, batches: Iterator[pa.RecordBatch]) -> Staged:
        context = TaskContext.get()
        staged = Staged(str(uuid.uuid4()))
        if context is not None:
            staged.query_id = context.getLocalProperty("sql.streaming.queryId")
        pending = chunks(batches)
        first = next(pending, None)
        if first is None:
            return staged
        statement = self._statement(context.partitionId() if context else 0)
        try:
            with self.target.connect() as connection:
                connection.adapters.register_dumper(JsonArray, JsonArrayDumper)
                for number, chunk in enumerate(chain([first], pending)):
                    given = [staged.attempt, number, *literals(self.fields, chunk).values()]
                    connection.execute(statement, given, prepare=False)
                    staged.rows += chunk.num_rows
        except BadColumn as error:
            staged.refusal = str(Refusal(BAD_ARGUMENT, str(error)))
        except psycopg.Error as error:
            staged.refusal = str(Refusal.of(error))
            if isinstance(error, psycopg.OperationalError):
                raise Refused(staged.refusal) from None  # Spark tries it again
        return staged

    def _statement(self, part: int) -> sql.Composed:
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
        arguments = [run_id, [m.attempt for m in staged], sum(m.rows for m in staged), origin]
        with refusals():
            try:
                self._commit(arguments)
            except psycopg.OperationalError:
                self._commit(arguments)  # Nobody knows whether it was committed: this one does.

    def _commit(self, arguments: list[Any]) -> None:
        with self.target.connect() as connection:
            connection.execute("select pgbaton.spark_commit(%s, %s::uuid[], %s, %s)", arguments)

    def abort(self) -> None:
        """Only tidies up, so what keeps it from that is no error; run_maintenance does it later."""
        try:
            with self.target.connect() as connection:
                connection.execute("select pgbaton.spark_abort(%s)", [self.run_id])
        except psycopg.OperationalError:
            return


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
    options: Mapping[str, str], overwrite: bool, unused: set[str]
) -> dict[str, str]:
    """The options of a write by their lower-case names.

    Raises:
        ValueError: one that does not exist, or is missing; overwrite.
    """
    given = {name.lower(): value for name, value in options.items()}
    if overwrite:
        raise ValueError('jobs are never overwritten: use mode("append")')
    if strange := sorted(set(given) - (WRITE_OPTIONS - unused) - {"path", "checkpointlocation"}):
        raise ValueError(f'there is no option "{strange[0]}" for this write')
    for name in ("dsn", "queue"):
        if not given.get(name):
            raise ValueError(f'option "{name}" is missing')
    return given


@contextmanager
def refusals() -> Iterator[None]:
    """What the database says, as an exception that carries no row."""
    try:
        yield
    except psycopg.Error as error:
        raise Refused(str(Refusal.of(error))) from None
