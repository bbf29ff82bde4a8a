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

from pgbaton.spark import _options
from pgbaton.spark._collector import spare_imports
from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import refusals
from pgbaton.spark._ranges import DEFAULT_PARTITIONS
from pgbaton.spark._reader import MAX_ID, check_schema
from pgbaton.spark._views import FINISHED, csv_list

if TYPE_CHECKING:
    import pyarrow as pa

# A smaller batch is read by fewer tasks.
JOBS_PER_PARTITION = 50_000
MOST_RANGES = 2**31 - 1
# A position in the transactions, as ended_jobs_offset gives it; or a place between two of them:
# {"from": …, "until": …, "last_id": …}, up to which the ids between the two are read.
Offset: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class EndedRange(InputPartition):
    """What one task reads: a range of ids between two positions."""

    after: str
    until: str
    first: int
    last: int


class FinishedJobStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads `ended_jobs` from offset to offset; an offset is a position in the transactions.

    Args:
        options (Mapping[str, str]): those of `readStream` in pgbaton.spark._options.
        schema (StructType): the columns to read, of those of finished_jobs.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        options = _options.checked(options, "readStream")
        check_schema(schema, options, FINISHED)
        self._schema = schema
        self._queue = options.get("queue") or None
        self._partitions = _options.number(options, "partitions", DEFAULT_PARTITIONS)
        self._most: int | None = None
        if "maxjobspertrigger" in options:
            self._most = _options.number(options, "maxJobsPerTrigger", 1)
        self._starting = _options.one_of(options, "startingOffsets", ("earliest", "latest"))
        with refusals():
            self._target = Target.resolve(_options.read_dsn(options), options.get("password"))
        self._stops_at_first = False
        self._last: Offset | None = None

    def initialOffset(self) -> Offset:
        return {} if self._starting == "earliest" else self._position(None)

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there at the first look is all that this run reads."""
        self._stops_at_first = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        if self._stops_at_first and self._last is None:
            self._last = self._position(start.get("until", start))
        after: Offset = start.get("from", start)
        until: Offset = start.get("until") or self._last or self._position(start)
        read = start.get("last_id", 0)
        if self._most is None or after == until:
            return until
        # Of what is between the two one batch after the other.
        for first in self._firsts(after, until, self._most, MOST_RANGES)[1:]:
            if first - 1 > read:
                return {"from": after, "until": until, "last_id": first - 1}
        return until

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        after, until = start.get("from", start), end.get("until", end)
        read, last = start.get("last_id", 0), end.get("last_id", MAX_ID)
        per_range, most_ranges = JOBS_PER_PARTITION, self._partitions
        if self._most is not None:
            per_range, most_ranges = max(per_range, self._most // self._partitions), MOST_RANGES
        firsts = self._firsts(after, until, per_range, most_ranges)
        if not firsts:
            return []
        starts = [read + 1, *(first for first in firsts if read + 1 < first <= last)]
        ends = [*(first - 1 for first in starts[1:]), last]
        return [
            EndedRange(json.dumps(after), json.dumps(until), *ids)
            for ids in zip(starts, ends, strict=True)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from pgbaton.spark._arrow import read_batches

        assert isinstance(partition, EndedRange)
        given = (partition.after, partition.until, self._queue, partition.first, partition.last)
        query = sql.SQL("select {} from pgbaton.ended_jobs({})").format(
            csv_list(self._schema), sql.SQL(", ").join(map(sql.Literal, given))
        )
        with refusals(), self._target.connect() as connection:
            yield from read_batches(connection, query, self._schema)
        spare_imports()

    def _position(self, after: Offset | None) -> Offset:
        with refusals(), self._target.connect() as connection:
            given = None if after is None else Jsonb(after)
            [(offset,)] = connection.execute(
                "select pgbaton.ended_jobs_offset(%s, %s)", [given, self._queue]
            ).fetchall()
        return dict(offset)

    def _firsts(
        self, after: Offset, until: Offset, jobs_per_range: int, most_ranges: int
    ) -> list[int]:
        """The first ids of ranges of so many jobs or a few more, of all that is between the two.

        Not their last ones: a job that ended twice is in two rows, which may stand in two ranges.
        """
        with refusals(), self._target.connect() as connection:
            rows = connection.execute(
                "select first_id from pgbaton.ended_jobs_ranges(%s, %s, %s, %s, %s)",
                [Jsonb(after), Jsonb(until), self._queue, jobs_per_range, most_ranges],
            ).fetchall()
        return [first for (first,) in rows]
