"""Streaming read of the data source: jobs that ended or failed, each once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from psycopg import sql
from psycopg.types.json import Jsonb
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from pgbaton.spark._collector import spare_imports
from pgbaton.spark._dsn import Target
from pgbaton.spark._ranges import DEFAULT_PARTITIONS, check_partitions
from pgbaton.spark._reader import check_options, number, required
from pgbaton.spark._views import FINISHED, check_columns, csv_list

if TYPE_CHECKING:
    import pyarrow as pa

# A smaller batch is read by fewer tasks.
JOBS_PER_PARTITION = 50_000
STREAM_OPTIONS = {"dsn", "password", "queue", "partitions", "startingoffsets"}
Offset: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class EndedRange(InputPartition):
    """What one task reads: a range of ids between two offsets."""

    after: str
    until: str
    first: int
    last: int


class FinishedJobStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads `ended_jobs` from offset to offset; an offset is a position in the transactions.

    Args:
        options (Mapping[str, str]): dsn and password; queue (default all); startingOffsets, which
            is earliest (default: all that is still there) or latest; partitions (default 8), how
            many tasks read a batch at most.
        schema (StructType): the columns to read, of those of finished_jobs.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        check_options(options, STREAM_OPTIONS)
        check_columns(schema, FINISHED)
        self._schema = schema
        self._queue = options.get("queue") or None
        self._partitions = number(options, "partitions", DEFAULT_PARTITIONS)
        check_partitions(self._partitions)
        self._starting = options.get("startingOffsets", "earliest")
        if self._starting not in ("earliest", "latest"):
            raise ValueError(f"option startingOffsets is {self._starting}: earliest or latest")
        self._target = Target.resolve(required(options, "dsn"), options.get("password"))
        self._stops_at_first = False
        self._last: Offset | None = None

    def initialOffset(self) -> Offset:
        return {} if self._starting == "earliest" else self._offset(None)

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there at the first look is all that this run reads."""
        self._stops_at_first = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        if self._stops_at_first and self._last is not None:
            return self._last
        self._last = self._offset(start)
        return self._last

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        with self._target.connect() as connection:
            found = connection.execute(
                "select first_id, last_id from pgbaton.ended_jobs_ranges(%s, %s, %s, %s, %s)",
                [Jsonb(start), Jsonb(end), self._queue, JOBS_PER_PARTITION, self._partitions],
            ).fetchall()
        return [EndedRange(json.dumps(start), json.dumps(end), *ids) for ids in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from pgbaton.spark._arrow import read_batches

        assert isinstance(partition, EndedRange)
        given = (partition.after, partition.until, self._queue, partition.first, partition.last)
        query = sql.SQL("select {} from pgbaton.ended_jobs({})").format(
            csv_list(self._schema), sql.SQL(", ").join(map(sql.Literal, given))
        )
        with self._target.connect() as connection:
            yield from read_batches(connection, query, self._schema)
        spare_imports()

    def _offset(self, after: Offset | None) -> Offset:
        with self._target.connect() as connection:
            given = None if after is None else Jsonb(after)
            [(offset,)] = connection.execute(
                "select pgbaton.ended_jobs_offset(%s, %s)", [given, self._queue]
            ).fetchall()
        return dict(offset)
