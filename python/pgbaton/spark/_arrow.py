"""Rows of a query as Arrow record batches, through COPY."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv
from psycopg import sql
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

# Rows are parsed this many bytes at a time; a longer row is a batch of its own.
CHUNK_BYTES = 4 << 20


def read_batches(
    connection: psycopg.Connection[Any], query: sql.Composed, schema: StructType
) -> Iterator[pa.RecordBatch]:
    """What the query returns, whose columns are those of csv_list for this schema."""
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    copy_out = sql.SQL("copy ({}) to stdout (format csv)").format(query)
    # The planner thinks that the views are large, and would compile what is read for each range.
    connection.execute(
        "set local timezone = 'UTC'; set local datestyle = 'ISO'; set local jit = off"
    )
    with connection.cursor() as cursor, cursor.copy(copy_out) as copy:
        for chunk in _chunks(copy):
            yield from _parse(chunk, arrow_schema).to_batches()


def _chunks(rows: Iterable[Any]) -> Iterator[bytes]:
    """Whole rows: the server sends one in each message."""
    chunk = bytearray()
    for row in rows:
        chunk += row
        if len(chunk) >= CHUNK_BYTES:
            yield bytes(chunk)
            chunk.clear()
    if chunk:
        yield bytes(chunk)


def _parse(chunk: bytes, schema: pa.Schema) -> pa.Table:
    csv_types = {
        field.name: pa.string() if pa.types.is_list(field.type) else field.type for field in schema
    }
    table = pyarrow.csv.read_csv(
        pa.BufferReader(chunk),
        pyarrow.csv.ReadOptions(
            column_names=schema.names, block_size=len(chunk) + 1, use_threads=False
        ),
        pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        # COPY writes null as nothing, and the empty text as two quotes.
        pyarrow.csv.ConvertOptions(
            column_types=csv_types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    columns = [_as(column, field.type) for column, field in zip(table.columns, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    if not pa.types.is_list(kind):
        return column
    # Few distinct ones: tags belong to lanes.
    coded = column.combine_chunks().dictionary_encode()
    lists = pa.array([json.loads(text) for text in coded.dictionary.to_pylist()], kind)
    return lists.take(coded.indices)
