"""The columns of a DataFrame as the arrays that spark_stage takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from psycopg.adapt import Dumper
from psycopg.pq import Format
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    VariantType,
)

from pgbaton import _jsonb
from pgbaton.spark._json import renderer

CHUNK_ROWS = 5000
CHUNK_BYTES = 8 * 2**20
NUL = "\0"
SHOWN = 10_000


class JsonArray(bytes):
    """A jsonb[] in binary form."""


class JsonArrayDumper(Dumper):
    """Sends it as it is."""

    format = Format.BINARY
    oid = _jsonb.ARRAY_OID

    def dump(self, obj: JsonArray) -> bytes:
        return obj


# A PostgreSQL array, as text if not of JSON, from the values of one column.
Literal = Callable[[pa.Array], str | JsonArray]


class BadColumn(ValueError):
    """What a column holds cannot be enqueued; the message names the column, not the value."""


@dataclass(frozen=True)
class Field:
    """One column and the parameter of spark_stage that it becomes."""

    index: int
    column: str
    parameter: str
    literal: Literal


def fields_of(schema: StructType) -> list[Field]:
    """How each column is sent.

    Raises:
        ValueError: a column that is no column of a job, of the wrong type, there twice, or
            missing.
    """
    fields = [_field(index, column.name, column.dataType) for index, column in enumerate(schema)]
    names = [field.parameter for field in fields]
    if double := [field.column for field in fields if names.count(field.parameter) > 1]:
        raise ValueError(f'column "{double[-1]}" is there twice')
    if "payloads" not in names:
        raise ValueError(f'there is no column "payload", but {", ".join(schema.names) or "none"}')
    return sorted(fields, key=lambda field: field.parameter)


def _field(index: int, name: str, kind: DataType) -> Field:
    if name.lower() not in COLUMNS:
        raise ValueError(
            f'column "{name}" is not one of a job: {", ".join(COLUMNS)}; put it into the payload, '
            "or drop it"
        )
    parameter, of_kind = COLUMNS[name.lower()]
    literal = of_kind(kind)
    if literal is None:
        raise ValueError(f'column "{name}" is of {kind.simpleString()}, which is not sent as such')
    return Field(index, name, parameter, literal)


def chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, a few megabytes at a time."""
    for batch in batches:
        rows = CHUNK_ROWS
        if batch.nbytes > CHUNK_BYTES:
            rows = max(1, min(rows, batch.num_rows * CHUNK_BYTES // batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def literals(fields: list[Field], chunk: pa.RecordBatch) -> dict[str, str | JsonArray]:
    """The arrays of one chunk by parameter.

    Raises:
        BadColumn: a text with a NUL character or of bytes that are not UTF-8, or a date or instant
            that Python cannot hold.
    """
    return {field.parameter: _literal(field, chunk) for field in fields}


def shown(values: pa.Array) -> str | None:
    """The one value of a column as a text that JSON can hold, cut after 10,000 characters."""
    if _is_text(values):
        value = values.cast(pa.binary())[0].as_py()
        text = None if value is None else value.decode("utf-8", "backslashreplace")
    else:
        text = None if not values[0].is_valid else _shown(_plain(values))
    return text and text[:SHOWN].replace(NUL, "\\0").encode("utf-8", "replace").decode()


def _shown(values: pa.Array) -> str:
    try:
        return str(values[0])
    except OverflowError:  # an instant that Python cannot hold
        return str(values.to_string(skip_new_lines=True)[1:-1])


def _literal(field: Field, chunk: pa.RecordBatch) -> str | JsonArray:
    values = _plain(chunk.column(field.index))
    try:
        if _is_text(values) and _has_nul(values):
            raise _nul(field)
        array = field.literal(values)
    except UnicodeDecodeError:
        raise BadColumn(f'column "{field.column}" holds bytes that are not UTF-8') from None
    except (OverflowError, pa.ArrowInvalid):
        what = "a date or instant outside of the years 1 to 9999"
        raise BadColumn(f'column "{field.column}" holds {what}') from None
    if isinstance(array, str) and NUL in array:  # in a tag
        raise _nul(field)
    return array


def _plain(values: pa.Array) -> pa.Array:
    """The same values as usual texts, and instants in UTC.

    That is, without the session's time zone, of which Python may know nothing, and whatever
    `spark.sql.execution.arrow.useLargeVarTypes` is.
    """
    kind = _plain_kind(values.type)
    return values if kind == values.type else values.cast(kind)


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit)
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_kind(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_kind(kind.value_type)))
    if pa.types.is_map(kind):
        fields = (kind.key_field, kind.item_field)
        return pa.map_(*(field.with_type(_plain_kind(field.type)) for field in fields))
    return kind


def _is_text(values: pa.Array) -> bool:
    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def _has_nul(texts: pa.Array) -> bool:
    """Looks at all bytes at once first, which takes a tenth of the time."""
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return False
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    bounds = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1]
    if NUL.encode() not in data[int(bounds[0]) : int(bounds[-1])].to_pybytes():
        return False
    return bool(pc.any(pc.match_substring(texts, NUL)).as_py())


def _nul(field: Field) -> BadColumn:
    return BadColumn(f'column "{field.column}" holds a NUL character, which PostgreSQL cannot')


def _texts(values: pa.Array) -> str:
    escaped = pc.replace_substring(pc.replace_substring(values, "\\", "\\\\"), '"', '\\"')
    return _joined(pc.binary_join_element_wise('"', escaped, '"', ""))


_ELEMENT_HEAD = np.dtype([("length", ">i4"), ("version", "u1")])


def _jsons(values: pa.Array) -> JsonArray:
    heads = np.empty(len(values), _ELEMENT_HEAD)
    heads["length"] = pc.fill_null(pc.binary_length(values), 0).to_numpy() + 1
    heads["version"] = _jsonb.VERSION
    kind = pa.binary(_ELEMENT_HEAD.itemsize)
    encoded = pa.FixedSizeBinaryArray.from_buffers(kind, len(values), [None, pa.py_buffer(heads)])
    elements = pc.binary_join_element_wise(encoded.cast(pa.binary()), values.cast(pa.binary()), b"")
    whole = _concatenated(pc.fill_null(elements, _jsonb.NULL))
    return JsonArray(_jsonb.array_head(len(values)) + whole)


def _joined(texts: pa.Array) -> str:
    filled = pc.fill_null(texts.cast(pa.string()), "NULL")
    whole = pa.ListArray.from_arrays([0, len(filled)], filled)
    return "{" + str(pc.binary_join(whole, ",")[0]) + "}"


def _concatenated(parts: pa.Array) -> bytes:
    whole = pa.ListArray.from_arrays([0, len(parts)], parts)
    return bytes(pc.binary_join(whole, b"")[0].as_py())


def _numbers(values: pa.Array) -> str:
    return _joined(values.cast(pa.string()))


def _instants(values: pa.Array) -> str:
    return _texts(pa.array([v and f"{v.isoformat()}Z" for v in values.to_pylist()], pa.string()))


def _lists(values: pa.Array) -> str:
    return _texts(pa.array([_list(v) for v in values.to_pylist()], pa.string()))


def _list(values: list[str | None] | None) -> str | None:
    if values is None:
        return None
    return "{" + ",".join("NULL" if v is None else _quoted(v) for v in values) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _text_kind(kind: DataType) -> Literal | None:
    return _texts if isinstance(kind, StringType) else None


def _number_kind(kind: DataType) -> Literal | None:
    return _numbers if isinstance(kind, IntegralType) else None


def _instant_kind(kind: DataType) -> Literal | None:
    return _instants if isinstance(kind, TimestampType) else None


def _tags_kind(kind: DataType) -> Literal | None:
    is_texts = isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType)
    return _lists if is_texts else None


def _ids(values: pa.Array) -> str:
    return _joined(pa.array([_id_list(v) for v in values.to_pylist()], pa.string()))


def _id_list(values: list[int | None] | None) -> str | None:
    if values is None:
        return None
    return '"{' + ",".join("NULL" if v is None else str(v) for v in values) + '}"'


def _ids_kind(kind: DataType) -> Literal | None:
    is_numbers = isinstance(kind, ArrayType) and isinstance(kind.elementType, IntegralType)
    return _ids if is_numbers else None


def _payload_kind(kind: DataType) -> Literal | None:
    if isinstance(kind, StringType):
        return _jsons
    if not isinstance(kind, StructType | MapType | ArrayType | VariantType):
        return None
    try:
        render = renderer(kind)
    except ValueError as error:
        raise ValueError(
            f'column "payload" holds a {error}, for which JSON has nothing: pass to_json(payload), '
            "or another type"
        ) from None

    def rendered(values: pa.Array) -> JsonArray:
        texts = [None if v is None else render(v) for v in values.to_pylist()]
        return _jsons(pa.array(texts, pa.string()))

    return rendered


# The parameter of spark_stage, and how a type becomes its array; None if it does not.
COLUMNS: dict[str, tuple[str, Callable[[DataType], Literal | None]]] = {
    "payload": ("payloads", _payload_kind),
    "singleton_key": ("singleton_keys", _text_kind),
    "priority": ("priorities", _number_kind),
    "job_type": ("job_types", _text_kind),
    "tags": ("tags", _tags_kind),
    "run_at": ("run_ats", _instant_kind),
    "dedup_id": ("dedup_ids", _text_kind),
    "order_no": ("order_nos", _number_kind),
    "after": ("afters", _ids_kind),
    "on_failed": ("on_faileds", _text_kind),
}
TYPES = {
    "payloads": "jsonb[]",
    "singleton_keys": "text[]",
    "priorities": "integer[]",
    "job_types": "text[]",
    "tags": "text[]",
    "run_ats": "timestamptz[]",
    "dedup_ids": "text[]",
    "order_nos": "bigint[]",
    "afters": "text[]",
    "on_faileds": "text[]",
}
