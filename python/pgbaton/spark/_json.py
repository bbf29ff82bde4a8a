"""Values of Spark as JSON text, as Spark's own to_json writes them."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
    VariantVal,
)

Render = Callable[[Any], str]


def renderer(kind: DataType) -> Render:
    """What makes JSON text of values of this type, as Arrow hands them to Python.

    Instants are expected in UTC and without a time zone.

    Raises:
        ValueError: JSON has nothing for the type, for example an interval; names the type.
    """
    render = _renderer(kind)
    return lambda value: "null" if value is None else render(value)


def _renderer(kind: DataType) -> Render:
    if isinstance(kind, StructType):
        fields = [(json.dumps(f.name), f.name, renderer(f.dataType)) for f in kind.fields]
        return lambda value: _object((name, render(value[key])) for name, key, render in fields)
    if isinstance(kind, ArrayType):
        element = renderer(kind.elementType)
        return lambda value: "[" + ",".join(map(element, value)) + "]"
    if isinstance(kind, MapType):
        if not isinstance(kind.keyType, StringType):
            raise ValueError(kind.simpleString())
        entry = renderer(kind.valueType)
        return lambda value: _object((json.dumps(k), entry(v)) for k, v in _pairs(value))
    for known, render in _SIMPLE.items():
        if isinstance(kind, known):
            return render
    raise ValueError(kind.simpleString())


def _object(members: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{name}:{value}" for name, value in members) + "}"


def _pairs(value: Any) -> Any:
    return value.items() if isinstance(value, Mapping) else value


def _double(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return json.dumps(value)


def _float(value: float) -> str:
    """The shortest text that is the same single."""
    if math.isfinite(value):
        single = struct.pack("f", value)
        for digits in range(6, 10):
            short = float(f"{value:.{digits}g}")
            if struct.pack("f", short) == single:
                return json.dumps(short)
    return _double(value)


def _decimal(value: Decimal) -> str:
    return format(value, "f")


def _instant(value: datetime) -> str:
    return json.dumps(value.isoformat(timespec="microseconds") + "Z")


def _local(value: datetime) -> str:
    return json.dumps(value.isoformat(timespec="microseconds"))


def _date(value: date) -> str:
    return json.dumps(value.isoformat())


def _bytes(value: bytes) -> str:
    return json.dumps(base64.b64encode(value).decode())


def _variant(value: Any) -> str:
    if isinstance(value, Mapping):
        value = VariantVal(value["value"], value["metadata"])
    return str(value.toJson("UTC"))


_SIMPLE: dict[type[DataType], Render] = {
    BinaryType: _bytes,
    BooleanType: json.dumps,
    DateType: _date,
    DecimalType: _decimal,
    DoubleType: _double,
    FloatType: _float,
    IntegralType: json.dumps,
    NullType: json.dumps,
    StringType: json.dumps,
    TimestampNTZType: _local,
    TimestampType: _instant,
    VariantType: _variant,
}
