"""Turns a DataFrame into rows of the view enqueue_inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructType, VariantType

ColumnOrName: TypeAlias = Column | str

STRIPES = 256
ROW = "__pgbaton_row"
STRIPE = "__pgbaton_stripe"
JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def inbox_rows(
    df: DataFrame,
    queue: str,
    key: ColumnOrName | None,
    order_by: ColumnOrName | Sequence[ColumnOrName] | None,
    payload: ColumnOrName | Sequence[str] | None,
    priority: int | ColumnOrName | None,
    partitions: int,
) -> DataFrame:
    """The columns of the inbox that are needed, row by row in the order in which to write them."""
    columns = [F.lit(queue).alias("queue"), _payload(df, payload).alias("payload")]
    if priority is not None:
        given = F.lit(priority) if isinstance(priority, int) else _existing(df, priority)
        columns.append(given.cast("int").alias("priority"))
    if key is None:
        if order_by is not None:
            raise ValueError("order_by needs a key: only jobs of one key have an order")
        return df.select(*columns).coalesce(partitions)

    text = _existing(df, key).cast("string")
    rows = _in_order(df, text, _order(df, order_by), partitions)
    return rows.select(*columns, text.alias("singleton_key"))


def _in_order(df: DataFrame, key: Column, order: list[Column], partitions: int) -> DataFrame:
    """The rows of a key in one partition, sorted.

    The database locks a key's stripe until the transaction ends. No two partitions share one, so
    they never wait for each other; sorted by stripe, two calls at once never wait in a circle.
    """
    # The number of the row is taken before the shuffle: where it stood in the DataFrame.
    marked = df.withColumns({ROW: F.monotonically_increasing_id(), STRIPE: stripe(key)})
    shuffled = marked.repartition(min(partitions, STRIPES), STRIPE)
    return shuffled.sortWithinPartitions(F.col(STRIPE), *order, F.col(ROW))


def stripe(key: Column) -> Column:
    """The same as pgbaton._stripe(0, key): the first byte of the sha256 of the UTF-8 text."""
    return F.conv(F.substring(F.sha2(key, 256), 1, 2), 16, 10).cast("int")


def _payload(df: DataFrame, payload: ColumnOrName | Sequence[str] | None) -> Column:
    if payload is None:
        if len(set(df.columns)) < len(df.columns):
            raise ValueError("two columns have the same name: pass payload, a list of columns")
        return _object(F.col(f"`{name.replace('`', '``')}`") for name in df.columns)
    if not isinstance(payload, str | Column):
        return _object(_existing(df, name) for name in payload)
    column = _existing(df, payload)
    kind = df.select(column).schema[0].dataType
    if isinstance(kind, StringType):
        return column
    if isinstance(kind, StructType | MapType | ArrayType | VariantType):
        return F.to_json(column, JSON_OPTIONS)
    raise ValueError(
        f"payload is a column of {kind.simpleString()}: pass one of JSON text, of a struct, map, "
        "array or variant, or a list of columns"
    )


def _object(columns: Iterable[Column]) -> Column:
    return F.to_json(F.struct(*columns), JSON_OPTIONS)


def _order(df: DataFrame, order_by: ColumnOrName | Sequence[ColumnOrName] | None) -> list[Column]:
    if order_by is None:
        return []
    given = [order_by] if isinstance(order_by, str | Column) else order_by
    columns = [_column(df, column) for column in given]
    if columns:
        _or_no_such_column(df, lambda: df.sort(*columns))
    return columns


def _existing(df: DataFrame, column: ColumnOrName) -> Column:
    found = _column(df, column)
    _or_no_such_column(df, lambda: df.select(found))
    return found


def _column(df: DataFrame, column: ColumnOrName) -> Column:
    if isinstance(column, Column):
        return column
    # Asked here, since Spark writes a page into its log about a column it cannot find.
    if column.isidentifier() and column.lower() not in map(str.lower, df.columns):
        raise _no_such_column(df, column)
    return F.col(column)


def _or_no_such_column(df: DataFrame, analyse: Callable[[], DataFrame]) -> None:
    try:
        analyse()
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            raise
        name = (error.getMessageParameters() or {})["objectName"]
        raise _no_such_column(df, name.strip("`")) from None


def _no_such_column(df: DataFrame, name: str) -> ValueError:
    return ValueError(f'the DataFrame has no column "{name}", but {", ".join(df.columns)}')
