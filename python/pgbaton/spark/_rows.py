"""Turns a DataFrame into rows of the view enqueue_inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampType,
    VariantType,
)

ColumnOrName: TypeAlias = Column | str

STRIPES = 256
# Types of which Spark makes the text in a map's key that it makes elsewhere.
KEYS_OF_JSON = (StringType, NumericType, BooleanType)
ON_FAILED = ("wait", "cancel", "run")
INTEGERS = range(-(2**31), 2**31)
ROW = "__pgbaton_row"
PLACE = "__pgbaton_place"
KEY = "__pgbaton_key"
JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True)
class Wanted:
    """Which columns of a DataFrame become what of a job, as `enqueue` was told."""

    payload: ColumnOrName | Sequence[str] | None = None
    key: ColumnOrName | None = None
    order_by: ColumnOrName | Sequence[ColumnOrName] | None = None
    priority: int | ColumnOrName | None = None
    job_type: ColumnOrName | None = None
    tags: Sequence[str] | ColumnOrName | None = None
    run_at: ColumnOrName | None = None
    dedup: ColumnOrName | None = None
    after: Sequence[int] | ColumnOrName | None = None
    on_failed: str | Column = "wait"


def job_rows(df: DataFrame, wanted: Wanted, partitions: int, is_repeatable: bool) -> DataFrame:
    """The columns of jobs that are wanted, row by row in the order in which to send them.

    Which rows share a partition depends, if it is to be repeatable, on what is in them alone.
    """
    columns = _columns(df, wanted)
    if wanted.key is None:
        if wanted.order_by is not None:
            raise ValueError("order_by needs a key: only jobs of one key have an order")
        rows = df.select(*columns)
        if wanted.dedup is not None:
            return rows.repartition(partitions, F.coalesce("dedup_id", "payload"))
        return (
            rows.repartition(partitions, "payload") if is_repeatable else rows.coalesce(partitions)
        )

    # Computed once: a key that is made by chance would be another one the second time.
    keyed = df.withColumn(KEY, _typed(df, "key", wanted.key, None).cast("string"))
    rows = _in_order(keyed, _order(df, wanted.order_by), partitions)
    return rows.select(*columns, F.col(KEY).alias("singleton_key"))


def has_text_payload(df: DataFrame, wanted: Wanted) -> bool:
    """Whether the payload is a text of the caller's, which may be no JSON."""
    if not isinstance(wanted.payload, str | Column):
        return False
    return isinstance(_type_of(df, _existing(df, wanted.payload)), StringType)


def _columns(df: DataFrame, wanted: Wanted) -> list[Column]:
    columns = [_payload(df, wanted.payload).alias("payload")]
    if isinstance(wanted.priority, int):
        if wanted.priority not in INTEGERS:
            raise ValueError(f"priority is {wanted.priority}, which is out of range for an integer")
        columns.append(F.lit(wanted.priority).cast("bigint").alias("priority"))
    elif wanted.priority is not None:
        priority = _typed(df, "priority", wanted.priority, IntegralType)
        columns.append(priority.cast("bigint").alias("priority"))
    if wanted.job_type is not None:
        columns.append(_typed(df, "job_type", wanted.job_type, StringType).alias("job_type"))
    if wanted.tags is not None:
        columns.append(_tags(df, wanted.tags).alias("tags"))
    if wanted.run_at is not None:
        columns.append(_typed(df, "run_at", wanted.run_at, TimestampType).alias("run_at"))
    if wanted.dedup is not None:
        columns.append(_typed(df, "dedup", wanted.dedup, None).cast("string").alias("dedup_id"))
    return columns + _waits(df, wanted.after, wanted.on_failed)


def _waits(
    df: DataFrame, after: Sequence[int] | ColumnOrName | None, on_failed: str | Column
) -> list[Column]:
    """For which jobs a row waits; on_failed is null where it waits for none."""
    if isinstance(on_failed, str) and on_failed not in ON_FAILED:
        raise ValueError(
            f'on_failed is "{on_failed}": pass {", ".join(ON_FAILED)}, or a column of them'
        )
    if after is None:
        if isinstance(on_failed, str) and on_failed == "wait":
            return []
        raise ValueError("on_failed needs after: the jobs for which a row waits")
    ids = _ids(df, after)
    if isinstance(on_failed, Column):
        said = _typed(df, "on_failed", on_failed, StringType)
    elif on_failed == "wait":
        return [ids.alias("after")]
    else:
        said = F.lit(on_failed)
    return [ids.alias("after"), F.when(F.size(ids) > 0, said).alias("on_failed")]


def _ids(df: DataFrame, after: Sequence[int] | ColumnOrName) -> Column:
    if not isinstance(after, str | Column):
        return F.array(*map(F.lit, after)).cast("array<bigint>")
    column = _existing(df, after)
    kind = _type_of(df, column)
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, IntegralType):
        return column.cast("array<bigint>")
    raise ValueError(
        f"after is a column of {kind.simpleString()}: pass one of array<bigint>, or a list of ids"
    )


def _in_order(df: DataFrame, order: list[Column], partitions: int) -> DataFrame:
    """The rows of a key in one partition, sorted.

    The database locks a key's stripe until the transaction ends. No two partitions share one, so
    they never wait for each other; sorted by stripe, two calls at once never wait in a circle.
    """
    # The number of the row is taken before the shuffle: where it stood in the DataFrame.
    marked = df.withColumns({ROW: F.monotonically_increasing_id(), PLACE: key_place(F.col(KEY))})
    parts = min(partitions, STRIPES)
    # Of 256 stripes to a few partitions a hash would give some twice as many as others.
    part = F.shiftright(stripe(F.col(PLACE)) * parts, 8)
    # Key by key: a statement that has all of a few keys costs the database less than one that has
    # a row of each of many.
    return marked.repartitionById(parts, part).sortWithinPartitions(PLACE, *order, ROW)


def key_place(key: Column) -> Column:
    """Sorts keys by stripe, and those of a stripe by a hash, in one number: Spark sorts by it fast.

    Two keys may have the same; then their rows mix, each in the order of its key.
    """
    first, second = (_hexadecimal_digit(_sha256(key), at) for at in (1, 2))
    signed = (first * 16 + second - 128).cast("bigint")
    return F.shiftleft(signed, 56).bitwiseOR(F.shiftrightunsigned(F.xxhash64(key), 8))


def stripe(place: Column) -> Column:
    """pgbaton._stripe(0, key) of a key_place: the first byte of the sha256 of the UTF-8 text."""
    return (F.shiftright(place, 56) + 128).cast("int")


def _sha256(key: Column) -> Column:
    """In hexadecimal digits; no key counts as an empty one."""
    return F.sha2(F.coalesce(key, F.lit("")), 256)


def _hexadecimal_digit(text: Column, at: int) -> Column:
    """Its value; conv would make a text of it."""
    return F.instr(F.lit("123456789abcdef"), F.substring(text, at, 1))


def _payload(df: DataFrame, payload: ColumnOrName | Sequence[str] | None) -> Column:
    if payload is None:
        if len(set(df.columns)) < len(df.columns):
            raise ValueError("two columns have the same name: pass payload, a list of columns")
        return _object(df, map(_named, df.columns))
    if not isinstance(payload, str | Column):
        return _object(df, (_existing(df, name) for name in payload))
    column = _existing(df, payload)
    kind = _type_of(df, column)
    if isinstance(kind, StringType):
        return column
    if isinstance(kind, StructType | MapType | ArrayType | VariantType):
        return as_json(column, kind, "payload")
    raise ValueError(
        f"payload is a column of {kind.simpleString()}: pass one of JSON text, of a struct, map, "
        "array or variant, or a list of columns"
    )


def _object(df: DataFrame, columns: Iterable[Column]) -> Column:
    whole = F.struct(*columns)
    return as_json(whole, _type_of(df, whole), "payload")


def as_json(column: Column, kind: DataType, name: str) -> Column:
    """JSON text of a column of this type.

    Raises:
        ValueError: JSON or Spark would lose something of it.
    """
    _check_json(kind, name)
    return F.to_json(column, JSON_OPTIONS)


def _check_json(kind: DataType, name: str) -> None:
    if isinstance(kind, StructType):
        if double := [field for field in kind.names if kind.names.count(field) > 1]:
            raise ValueError(
                f'{name} has two members "{double[0]}", of which JSON keeps one: rename one'
            )
        for field in kind.fields:
            _check_json(field.dataType, f"{name}.{field.name}")
    elif isinstance(kind, ArrayType):
        _check_json(kind.elementType, name)
    elif isinstance(kind, MapType):
        if not isinstance(kind.keyType, KEYS_OF_JSON):
            raise ValueError(
                f"{name} holds a map whose keys are {kind.keyType.simpleString()}, of which Spark "
                "makes no readable text: cast them to string"
            )
        _check_json(kind.valueType, name)


def _tags(df: DataFrame, tags: Sequence[str] | ColumnOrName) -> Column:
    if not isinstance(tags, str | Column):
        return F.array(*map(F.lit, tags)).cast("array<string>")
    column = _existing(df, tags)
    kind = _type_of(df, column)
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType):
        return column
    raise ValueError(
        f"tags is a column of {kind.simpleString()}: pass one of array<string>, or a list of tags"
    )


def _typed(df: DataFrame, name: str, column: ColumnOrName, wanted: type[DataType] | None) -> Column:
    """The column, of that type, or of any that is one value as text."""
    found = _existing(df, column)
    kind = _type_of(df, found)
    if isinstance(kind, NullType):
        return found.cast(wanted() if wanted and wanted is not IntegralType else "string")
    plain = not isinstance(kind, StructType | MapType | ArrayType | VariantType)
    if isinstance(kind, wanted) if wanted else plain:
        return found
    expected = wanted.typeName() if wanted else "one value"
    expected = {"integral": "a whole number"}.get(expected, expected)
    raise ValueError(f"{name} is a column of {kind.simpleString()}: pass one of {expected}")


def _type_of(df: DataFrame, column: Column) -> DataType:
    return df.select(column).schema[0].dataType


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
    if not isinstance(column, str):
        raise ValueError(f"{column!r} is no column: pass one, or its name")
    if column in df.columns:
        return _named(column)
    # Asked here, since Spark writes a page into its log about a column it cannot find.
    if column.isidentifier() and column.lower() not in map(str.lower, df.columns):
        raise _no_such_column(df, column)
    return F.col(column)


def _named(name: str) -> Column:
    """The column of that very name, which may hold dots."""
    return F.col(f"`{name.replace('`', '``')}`")


def _or_no_such_column(df: DataFrame, analyse: Callable[[], DataFrame]) -> None:
    try:
        _ = analyse().schema  # Spark Connect analyses nothing before
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            raise
        name = (error.getMessageParameters() or {})["objectName"]
        raise _no_such_column(df, name.strip("`")) from None


def _no_such_column(df: DataFrame, name: str) -> ValueError:
    return ValueError(f'the DataFrame has no column "{name}", but {", ".join(df.columns)}')
