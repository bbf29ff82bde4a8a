"""How typed values become JSON and come back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from pgbaton._arguments import Json, json_value

T = TypeVar("T")
CONTAINERS = (dict, list, tuple, set, frozenset)


class Codec:
    """Turns arguments and results of tasks into JSON and back, by their annotations.

    It knows what JSON knows, dataclasses, pydantic models, `TypedDict`, `NamedTuple`, UUID, date,
    time, datetime, timedelta, Decimal, bytes, enums, sets, tuples, `Literal` and unions that JSON
    can tell apart. Nothing is guessed: the text "17" is no int. `add` teaches it other types; for
    another way altogether override `encode` and `decode`.
    """

    def __init__(self) -> None:
        self._own: dict[type, tuple[Callable[[Any], Json], Callable[[Json], Any]]] = {}

    def add(self, kind: type[T], encode: Callable[[T], Json], decode: Callable[[Json], T]) -> None:
        """Teaches it a type of yours.

        Args:
            kind (type): the type; values of its subclasses are encoded in the same way.
            encode (Callable): makes a JSON value of one.
            decode (Callable): makes one of such a JSON value; raises ValueError if it cannot.

        Raises:
            ValueError: it knows the type already.
        """
        import msgspec

        if kind in self._own or not isinstance(
            msgspec.inspect.type_info(kind), msgspec.inspect.CustomType
        ):
            raise ValueError(f"{kind.__name__} is known already")
        self._own[kind] = encode, decode

    def check(self, hint: Any) -> None:
        """Refuses an annotation that it could not decode.

        Args:
            hint (type): an annotation.

        Raises:
            TypeError: it is none, or a union that JSON cannot tell apart.
        """
        import msgspec

        if hint is not Any:
            msgspec.json.Decoder(hint)

    def encode(self, value: Any) -> Json:
        """What `json.dumps` takes.

        Args:
            value: a value of a type that it knows.

        Raises:
            TypeError: it does not know the type.
        """
        import msgspec

        return msgspec.to_builtins(value, enc_hook=self._encode_other)

    def decode(self, value: Json, hint: Any) -> Any:
        """A value of the annotated type.

        Args:
            value (Json): what `json.loads` gave.
            hint (type): the annotation; Any is whatever there is.

        Raises:
            ValueError: it is no such value; the message says where.
        """
        import msgspec

        try:
            return msgspec.convert(value, hint, str_keys=True, dec_hook=self._decode_other)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error.__cause__

    def _encode_other(self, value: Any) -> Json:
        for kind in type(value).__mro__:
            if kind in self._own:
                return self._own[kind][0](value)
        if hasattr(value, "model_dump"):  # pydantic, which need not be installed
            return value.model_dump(mode="json", by_alias=True)
        raise TypeError(
            f"{type(value).__name__} cannot be encoded: add it to the codec of the task"
        )

    def _decode_other(self, kind: type[Any], value: Json) -> Any:
        if kind in self._own:
            return self._own[kind][1](value)
        if hasattr(kind, "model_validate"):
            return kind.model_validate(value)
        raise TypeError(f"{kind.__name__} cannot be decoded: add it to the codec of the task")


def stored(codec: Codec, value: Any, hint: Any) -> Json:
    """The value as JSON, as it comes back from the database.

    What would not come back as the same is refused here, where the caller can be told.
    """
    encoded = json.loads(json_value(codec.encode(value)) or "null")
    decoded = codec.decode(encoded, hint)
    if decoded != value and (type(decoded) is not type(value) or isinstance(value, CONTAINERS)):
        raise ValueError(f"{value!r} would come back as {decoded!r}")
    return encoded


DEFAULT_CODEC = Codec()
