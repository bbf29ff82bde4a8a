"""How values become JSON and come back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from pgbaton._arguments import DEFAULT, Json, NewJob, json_value, several
from pgbaton._json_text import JsonText

T = TypeVar("T")
Encode: TypeAlias = Callable[[Any], Json]
"""Makes a JSON value of a payload or result."""


class CodecError(ValueError):
    """An encoder or decoder of yours failed: the call was not sent, or the attempt failed."""


CodecError.__module__ = "pgbaton"  # as it is imported, since errors of jobs name it


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
        raise TypeError(f"{type(value).__name__} cannot be encoded: add it to the codec")

    def _decode_other(self, kind: type[Any], value: Json) -> Any:
        if kind is object:  # anything, as Any
            return value
        if kind in self._own:
            return self._own[kind][1](value)
        if hasattr(kind, "model_validate"):
            return kind.model_validate(value)
        raise TypeError(f"{kind.__name__} cannot be decoded: add it to the codec")


def stored(codec: Codec, value: Any, hint: Any) -> Json:
    """The value as JSON, as it comes back from the database.

    What would not come back as the same is refused here, where the caller can be told.
    """
    encoded = json.loads(json_value(codec.encode(value)) or "null")
    decoded = codec.decode(encoded, hint)
    if not is_same(value, decoded):
        raise ValueError(f"{value!r} would come back as {decoded!r}")
    return encoded


def is_same(value: Any, other: Any) -> bool:
    """Whether a value came back as it was, as far as one can tell."""
    if is_equal(value, other):
        return True
    kind = type(value)
    if type(other) is not kind:
        return False
    if isinstance(value, datetime):  # in the hour that the clock repeats it equals none elsewhere
        return wall_clock(value) == wall_clock(other)
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(is_same(value[k], other[k]) for k in value)
    if isinstance(value, list | tuple):
        return len(value) == len(other) and all(map(is_same, value, other))
    if names := fields_of(kind):
        return all(is_same(getattr(value, n, None), getattr(other, n, None)) for n in names)
    # Objects that equal no other one, NaN and arrays say nothing about it.
    return equals_itself_only(kind) or not is_equal(value, value)


def equals_itself_only(kind: Any) -> bool:
    return bool(kind.__eq__ is object.__eq__)


def is_equal(value: Any, other: Any) -> bool:
    try:
        return bool(value == other)
    except Exception:  # an array makes one of each comparison
        return False


def wall_clock(instant: datetime) -> tuple[datetime, timedelta | None]:
    return instant.replace(tzinfo=None), instant.utcoffset()


def fields_of(kind: Any) -> list[str]:
    """What a value of it is made of; nothing for classes that do not say."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if hasattr(kind, "model_fields"):  # pydantic
        return [*kind.model_fields, "model_extra"]
    attributes = getattr(kind, "__attrs_attrs__", ())
    return [*getattr(kind, "__struct_fields__", ()), *(one.name for one in attributes)]


def check_coder(name: str, function: object) -> None:
    """Refuses an encoder or decoder that is none before it is needed."""
    if function is not None and not callable(function):
        raise TypeError(f"{name} is {function!r:.100}: pass a function of one argument")


class Encoder:
    """What an `encode` makes of payloads and results; None leaves them as they are."""

    def __init__(self, encode: Encode | None) -> None:
        check_coder("encode", encode)
        self.encode = encode

    def payload(self, value: Any, queue: str, job_type: str | None, place: str = "") -> Json:
        """Of a job that is enqueued; JSON text then."""
        if self.encode is None or value is DEFAULT:
            return value
        kind = f", type {job_type}" if job_type else ""
        return self._text(value, f"the payload of {place or 'a job'} of queue {queue}{kind}")

    def payloads(self, values: Iterable[Any], queue: str, job_type: str | None) -> Iterable[Json]:
        if self.encode is None:
            return values
        places = ((f"job {number}", value) for number, value in enumerate(several(values), 1))
        return [self.payload(value, queue, job_type, place) for place, value in places]

    def jobs(self, queue: str, jobs: Iterable[NewJob]) -> Iterable[NewJob]:
        return jobs if self.encode is None else self._jobs(queue, several(jobs))

    def published(self, value: Any, topic: str) -> Json:
        if self.encode is None:
            return value
        return self._text(value, f"the payload of topic {topic}")

    def result(self, value: Any, job_id: int) -> Json:
        return self._result(value, f"the result of job {job_id}")

    def results(self, values: Iterable[Any] | None, ids: Iterable[int]) -> Iterable[Json] | None:
        if self.encode is None or values is None:
            return values
        known = list(ids) if isinstance(ids, Sequence | Mapping) else []  # no iterator is used up
        named = [f"the result of job {id}" for id in known]
        return [
            self._result(value, named[place] if place < len(named) else f"result {place + 1}")
            for place, value in enumerate(several(values))
        ]

    def checked_result(self, value: Any, job_id: int) -> Json:
        """The result as a value, not as text; what JSON cannot say is refused."""
        text = self.result(value, job_id)
        return json.loads(text) if isinstance(text, JsonText) else text

    def _jobs(self, queue: str, jobs: Iterable[Any]) -> Iterator[Any]:
        for number, job in enumerate(jobs, 1):
            if isinstance(job, Mapping) and "payload" in job:
                kind, place = job.get("job_type"), f"job {number}"
                job = {**job, "payload": self.payload(job["payload"], queue, kind, place)}
            yield job

    def _result(self, value: Any, what: str) -> Json:
        """None is no result, and JSON text is what a worker has encoded already."""
        is_final = self.encode is None or value is None or isinstance(value, JsonText)
        return value if is_final else self._text(value, what)

    def _text(self, value: Any, what: str) -> JsonText:
        assert self.encode is not None
        try:
            return JsonText(json_value(self.encode(value)) or "null")
        except Exception as error:
            raise CodecError(
                f"{what}, a {type(value).__name__}, cannot be encoded: {str(error) or repr(error)}"
            ) from error


DEFAULT_CODEC = Codec()
