"""Batch read of the data source: live or finished jobs, in ranges of ids.

It has no pushFilters: Spark 4.3 keeps what was pushed for all other uses of the same DataFrame.
What the database is to filter by comes as options, and Spark's own filters stay Spark's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import DataType, StructType

from pgbaton.spark import _options
from pgbaton.spark._collector import spare_imports
from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import refusals
from pgbaton.spark._ranges import DEFAULT_PARTITIONS, IdRange
from pgbaton.spark._snapshot import enter_snapshot
from pgbaton.spark._views import ALL, FINISHED, LIVE, check_columns, csv_list, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

VIEWS: dict[str, dict[str, DataType]] = {
    "finished_jobs": FINISHED,
    "live_jobs": LIVE,
    "jobs": ALL,
}
KINDS = {"finished": "finished_jobs", "live": "live_jobs", "all": "jobs"}
# What since and until are about: only what has ended has ended at some time.
INSTANTS = {"finished_jobs": "finished_at", "live_jobs": "created_at", "jobs": "created_at"}
MAX_ID = 2**63 - 1


def view_of(options: Mapping[str, str]) -> str:
    """The view that the option jobs asks for."""
    return KINDS[_options.one_of(options, "jobs", tuple(KINDS))]


def wanted_schema(options: Mapping[str, str], known: dict[str, DataType]) -> StructType:
    """The columns that the option of that name asks for.

    Raises:
        ValueError: there is no such column.
    """
    names = _options.names(options, "columns")
    if names is None:
        return schema_of(known)
    if strange := [name for name in names if name not in known]:
        raise ValueError(f'there is no column "{strange[0]}", but {", ".join(known)}')
    if not names:
        raise ValueError("option columns names none: leave it out for all")
    if double := [name for name in names if names.count(name) > 1]:
        raise ValueError(f'option columns has "{double[0]}" twice')
    return schema_of({name: known[name] for name in names})


def check_schema(
    schema: StructType, options: Mapping[str, str], known: dict[str, DataType]
) -> None:
    """Raises ValueError for columns that are not there, or that the option contradicts."""
    check_columns(schema, known)
    names = _options.names(options, "columns")
    if names is not None and names != schema.names:
        raise ValueError("pass either the option columns or a schema")


class JobReader(DataSourceReader):
    """Reads the view finished_jobs, live_jobs or jobs.

    Args:
        options (Mapping[str, str]): those of `read` in pgbaton.spark._options.
        schema (StructType): the columns to read, of those in default_schema.
    """

    @classmethod
    def default_schema(cls, options: Mapping[str, str]) -> StructType:
        """The columns that a read with these options has."""
        return wanted_schema(options, VIEWS[view_of(options)])

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        options = _options.checked(options, "read")
        self._view = view_of(options)
        check_schema(schema, options, VIEWS[self._view])
        self._schema = schema
        self._partitions = _options.number(options, "partitions", DEFAULT_PARTITIONS)
        self._queue = options.get("queue") or None
        self._conditions = list(conditions(options, self._view))
        self.snapshot = options.get("snapshot") or None
        with refusals():
            self.target = Target.resolve(_options.read_dsn(options), options.get("password"))
            if self._queue is not None:
                with self.target.connect() as connection:
                    connection.execute("select pgbaton.queue_stats(%s)", [self._queue])

    def partitions(self) -> list[IdRange]:
        """Ranges of about as many jobs, the first and the last of them open: jobs go on ending."""
        with refusals(), self.target.connect() as connection:
            enter_snapshot(connection, self.snapshot)
            starts = self._starts(connection)
        ends = [start - 1 for start in starts]
        return [IdRange(*ids) for ids in zip([0, *starts], [*ends, MAX_ID], strict=True)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Not at the top: the module is also loaded where only a DataFrame is planned.
        from pgbaton.spark._arrow import read_batches

        assert isinstance(partition, IdRange)
        ids = sql.SQL("range_id between {} and {}").format(partition.first, partition.last)
        query = self.query(csv_list(self._schema), ids)
        with refusals(), self.target.connect() as connection:
            enter_snapshot(connection, self.snapshot)
            yield from read_batches(connection, query, self._schema)
        spare_imports()

    def query(self, columns: sql.Composable, *more: sql.Composable) -> sql.Composed:
        """Selects columns of the jobs that are asked for, and fit the conditions given here."""
        view = sql.Identifier("pgbaton", self._view)
        all_conditions = [*self._conditions, *more]
        if self._queue is not None:
            all_conditions.insert(0, sql.SQL("queue = {}").format(sql.Literal(self._queue)))
        where = sql.SQL(" where ") if all_conditions else sql.SQL("")
        return (
            sql.SQL("select {} from {}").format(columns, view)
            + where
            + sql.SQL(" and ").join(all_conditions)
        )

    def _starts(self, connection: psycopg.Connection) -> list[int]:
        """Where ranges begin, but for the first one."""
        if self._view == "finished_jobs" and not self._conditions:
            # A quarter of the work: whole spans are counted instead of their jobs.
            # In a statement of its own: within one, the ranges would be asked for under an older
            # snapshot than the offset, and refused if a transaction ended in between.
            [(until,)] = connection.execute(
                "select pgbaton.ended_jobs_offset('{}', %s)::text", [self._queue]
            ).fetchall()
            rows = connection.execute(
                "select first_id from pgbaton.ended_jobs_ranges('{}', %s, %s, 1, %s)",
                [until, self._queue, self._partitions],
            ).fetchall()
            return [first for (first,) in rows[1:]]
        parts = self._partitions
        shares = [part / parts for part in range(1, parts)]
        column = sql.SQL("percentile_disc({}::float8[]) within group (order by range_id)").format(
            sql.Literal(shares)
        )
        [(starts,)] = connection.execute(self.query(column)).fetchall()
        return sorted({start for start in starts or [] if start is not None})


def conditions(options: Mapping[str, str], view: str) -> Iterator[sql.Composable]:
    """What the options say that the database is to filter by.

    Raises:
        ValueError: an option that cannot be read.
    """
    if (states := _options.names(options, "state")) is not None:
        yield sql.SQL("state = any({}::pgbaton.job_state[])").format(sql.Literal(states))
    if (job_type := options.get("job_type")) is not None:
        yield sql.SQL("job_type = {}").format(sql.Literal(job_type))
    at = sql.Identifier(INSTANTS[view])
    if (since := _options.instant(options, "since")) is not None:
        yield sql.SQL("{} >= {}").format(at, sql.Literal(since))
    if (until := _options.instant(options, "until")) is not None:
        yield sql.SQL("{} < {}").format(at, sql.Literal(until))
    if (ids := _options.numbers(options, "ids")) is not None:
        yield sql.SQL("id = any({}::bigint[])").format(sql.Literal(ids))
