"""Batch read of the data source: live or finished jobs, in ranges of ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from psycopg import sql
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)
from pyspark.sql.types import DataType, StringType, StructType

from pgbaton.spark._collector import spare_imports
from pgbaton.spark._dsn import Target
from pgbaton.spark._ranges import DEFAULT_PARTITIONS, IdRange, check_partitions, equal_ranges
from pgbaton.spark._snapshot import enter_snapshot
from pgbaton.spark._views import ALL, FINISHED, LIVE, check_columns, csv_list, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

VIEWS: dict[str, dict[str, DataType]] = {
    "finished_jobs": FINISHED,
    "live_jobs": LIVE,
    "jobs": ALL,
}
READ_OPTIONS = {"dsn", "password", "queue", "jobs", "partitions", "snapshot"}
KINDS = {"finished": "finished_jobs", "live": "live_jobs", "all": "jobs"}
MAX_ID = 2**63 - 1
# JSON is not compared in the database: it would be another text there.
NOT_PUSHED = {"payload", "result", "tags"}
COMPARED: dict[type[Filter], sql.SQL] = {
    GreaterThan: sql.SQL("{} > {}"),
    GreaterThanOrEqual: sql.SQL("{} >= {}"),
    LessThan: sql.SQL("{} < {}"),
    LessThanOrEqual: sql.SQL("{} <= {}"),
}


def view_of(options: Mapping[str, str]) -> str:
    """The view that the option jobs asks for."""
    kind = options.get("jobs", "finished")
    if kind not in KINDS:
        raise ValueError(f"option jobs is {kind}: pass {', '.join(KINDS)}")
    return KINDS[kind]


def check_options(options: Mapping[str, str], known: set[str]) -> None:
    """Raises ValueError for an option that a read would ignore; Spark adds the path of a table."""
    if strange := sorted(name for name in options if name.lower() not in known | {"path"}):
        raise ValueError(
            f'there is no option "{strange[0]}" for this read: {", ".join(sorted(known))}'
        )


def required(options: Mapping[str, str], name: str) -> str:
    value = options.get(name)
    if not value:
        raise ValueError(f"option {name} is missing")
    return value


def number(options: Mapping[str, str], name: str, default: int) -> int:
    given = options.get(name, str(default))
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"option {name} is {given}: pass a number") from None


class JobReader(DataSourceReader):
    """Reads the view finished_jobs, live_jobs or jobs.

    Args:
        options (Mapping[str, str]): dsn and password; queue (default all); jobs, which is
            finished (default), live or all; partitions (default 8); snapshot, the id of a
            `snapshot(dsn)`.
        schema (StructType): the columns to read, of those in default_schema.
    """

    @classmethod
    def default_schema(cls, options: Mapping[str, str]) -> StructType:
        """All columns that a read with these options has."""
        return schema_of(VIEWS[view_of(options)])

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        check_options(options, READ_OPTIONS)
        self._view = view_of(options)
        check_columns(schema, VIEWS[self._view])
        self._schema = schema
        self._partitions = number(options, "partitions", DEFAULT_PARTITIONS)
        check_partitions(self._partitions)
        self.snapshot = options.get("snapshot")
        self.target = Target.resolve(required(options, "dsn"), options.get("password"))
        self._conditions: list[sql.Composable] = []
        if queue := options.get("queue"):
            with self.target.connect() as connection:
                connection.execute("select pgbaton.queue_stats(%s)", [queue])  # raises PB001
            self._conditions.append(sql.SQL("queue = {}").format(sql.Literal(queue)))

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        for given in filters:
            condition = condition_of(given, VIEWS[self._view])
            if condition is None:
                yield given
            else:
                self._conditions.append(condition)

    def partitions(self) -> list[IdRange]:
        """Ranges of equal size, the first and the last of them open: jobs go on ending."""
        with self.target.connect() as connection:
            enter_snapshot(connection, self.snapshot)
            [(first, last)] = connection.execute(
                self.query(sql.SQL("min(range_id), max(range_id)"))
            ).fetchall()
        ranges = [] if first is None else equal_ranges(first, last, self._partitions)
        starts = [ids.first for ids in ranges[1:]]
        ends = [start - 1 for start in starts]
        return [IdRange(*ids) for ids in zip([0, *starts], [*ends, MAX_ID], strict=True)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Not at the top: the module is also loaded where only a DataFrame is planned.
        from pgbaton.spark._arrow import read_batches

        assert isinstance(partition, IdRange)
        ids = sql.SQL("range_id between {} and {}").format(partition.first, partition.last)
        query = self.query(csv_list(self._schema), ids)
        with self.target.connect() as connection:
            enter_snapshot(connection, self.snapshot)
            yield from read_batches(connection, query, self._schema)
        spare_imports()

    def query(self, columns: sql.Composable, *more: sql.Composable) -> sql.Composed:
        """Selects columns of the jobs that fit, and fit the conditions that are given here."""
        view = sql.Identifier("pgbaton", self._view)
        conditions = [*self._conditions, *more]
        where = sql.SQL(" where ") if conditions else sql.SQL("")
        return (
            sql.SQL("select {} from {}").format(columns, view)
            + where
            + sql.SQL(" and ").join(conditions)
        )


def condition_of(given: Filter, columns: dict[str, DataType]) -> sql.Composable | None:
    """The filter in SQL, None when only Spark can tell."""
    if isinstance(given, Not):
        inner = condition_of(given.child, columns)
        return None if inner is None else sql.SQL("not ({})").format(inner)
    name = ".".join(getattr(given, "attribute", ()))
    if name not in columns or name in NOT_PUSHED:
        return None
    column: sql.Composable = sql.Identifier(name)
    if name == "state":
        column = sql.SQL("{}::text").format(column)
    value = getattr(given, "value", None)
    if type(given) in _BUILDERS:
        return _BUILDERS[type(given)](column, value)
    # Texts are sorted by the collation of the database, which is not Spark's.
    is_text = isinstance(columns[name], StringType)
    if type(given) in COMPARED and not is_text and is_comparable(value):
        return COMPARED[type(given)].format(column, sql.Literal(value))
    return None


def is_comparable(value: Any) -> bool:
    """Whether the value means the same in the database."""
    if isinstance(value, datetime):
        return value.tzinfo is not None
    if isinstance(value, str):
        return "\0" not in value
    return isinstance(value, int) and not isinstance(value, bool)


def _equal(column: sql.Composable, value: Any) -> sql.Composable | None:
    if not is_comparable(value):
        return None
    return sql.SQL("{} = {}").format(column, sql.Literal(value))


def _equal_null_safe(column: sql.Composable, value: Any) -> sql.Composable | None:
    if value is None:
        return sql.SQL("{} is null").format(column)
    if not is_comparable(value):
        return None
    return sql.SQL("{} is not distinct from {}").format(column, sql.Literal(value))


def _in(column: sql.Composable, values: Iterable[Any]) -> sql.Composable | None:
    given = list(values)
    if not given or not all(map(is_comparable, given)):
        return None
    return sql.SQL("{} in ({})").format(column, sql.SQL(", ").join(map(sql.Literal, given)))


def _starts_with(column: sql.Composable, value: Any) -> sql.Composable | None:
    if not is_comparable(value):
        return None
    return sql.SQL("starts_with({}, {})").format(column, sql.Literal(value))


_BUILDERS: dict[type[Filter], Callable[[sql.Composable, Any], sql.Composable | None]] = {
    EqualTo: _equal,
    EqualNullSafe: _equal_null_safe,
    In: _in,
    IsNull: lambda column, _: sql.SQL("{} is null").format(column),
    IsNotNull: lambda column, _: sql.SQL("{} is not null").format(column),
    StringStartsWith: _starts_with,
}
