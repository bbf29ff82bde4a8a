"""Python values as arguments of SQL functions.

Every argument travels as text without a type: a pgbaton function has one signature, so the server
knows what to read it as. Only lists of JSON values go in binary form: in the text of an array
every quote of theirs would be escaped. A value that PostgreSQL cannot hold is refused here, before
anything is sent: a statement that fails in the middle would break the caller's transaction.
"""

from __future__ import annotations

import json
import operator
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, TypeAlias, TypedDict

from pgbaton._json_text import JsonText, write

Json: TypeAlias = Any
Interval: TypeAlias = timedelta | str


class JsonList(list["str | None"]):
    """JSON texts that travel as one jsonb[]."""


Argument: TypeAlias = str | JsonList | None


class Default(Enum):
    """Type of `DEFAULT`."""

    DEFAULT = "DEFAULT"

    def __repr__(self) -> str:
        return self.value


DEFAULT: Final = Default.DEFAULT
"""Stands for an argument that is left out where None is a value of its own."""


class JobOptions(TypedDict, total=False):
    """Options of a job, as `enqueue_job` has them; what is left out is the server's default."""

    priority: int
    singleton_key: str | None
    tags: Iterable[str]
    run_at: datetime | None
    delay: Interval | None
    max_attempts: int | None
    retry_delay: Interval | None
    retry_backoff: bool | None
    backoff_schedule: Iterable[Interval] | None
    keys_if_undelivered: Iterable[Iterable[str]] | None
    dedup_id: str | None
    on_duplicate: str
    headers: Mapping[str, str] | None
    after: Iterable[int]
    on_failed: str
    debounce: Interval | None
    max_wait: Interval | None


class SingleJob(JobOptions, total=False):
    """What `enqueue_job` takes but the queue."""

    payload: Json
    job_type: str


class NewJob(SingleJob, total=False):
    """One job of `enqueue_jobs`; the keys mean what the parameters of `enqueue_job` mean."""

    after_ordinals: Iterable[int]
    """Places of earlier jobs of the same call, from 1, for which it waits as well."""


class JobSearch(TypedDict, total=False):
    """Which jobs `find_jobs` finds and `act_on_jobs` acts on: those that all of the keys fit."""

    ids: Iterable[int]
    queue: str
    states: Iterable[str]
    """Any of these: the states of JobState, where failed is a dead letter, and given_up."""
    job_type: str
    tags: Iterable[str]
    """All of them."""
    singleton_key: str
    worker_id: str
    """Who claimed it last."""
    error: str
    """Part of the last error."""
    payload: Json
    """What the payload contains, as the operator @> of jsonb has it."""
    created_after: datetime
    created_before: datetime
    ended_after: datetime
    """A dead letter ended when it failed."""
    ended_before: datetime
    extra_attempts: int
    """Not a condition: attempts that the action retry grants to each; default 1."""


class JobFilter(TypedDict, total=False):
    """Which failed jobs `retry_jobs` takes: those that all of the given keys fit."""

    job_type: str
    tags: Iterable[str]
    """All of them."""
    singleton_key: str
    error: str
    """Part of the last error."""
    failed_after: datetime
    failed_before: datetime
    payload: Json
    """What the payload contains, as the operator @> of jsonb has it."""
    extra_attempts: int
    """Not a condition: attempts to grant to each beyond its limit; default 1."""


@contextmanager
def argument(name: str) -> Iterator[None]:
    """Says of which argument a value is that is refused here."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def text(value: str | None) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise not_what_is_wanted(value, "a text", "a str")
    # psycopg would ask an enum's own dumper.
    return _storable(str.__str__(value))


def integer(value: int | None) -> str | None:
    if value is None:
        return None
    try:
        return format(operator.index(value), "d")
    except TypeError:
        raise not_what_is_wanted(value, "an integer", "an int") from None


def not_what_is_wanted(value: object, wanted: str, way: str) -> TypeError:
    return TypeError(f"{reprlib.repr(value)} is not {wanted}: pass {way}")


def there(value: Any, wanted: str, way: str) -> Any:
    """The value, which must not be None."""
    if value is None:
        raise not_what_is_wanted(value, wanted, way)
    return value


def word(value: Any) -> str:
    """A text that has to be there."""
    return str(text(there(value, "a text", "a str")))


def check_function(value: object, way: str) -> None:
    """Raises TypeError unless it can be called."""
    if not callable(value):
        raise not_what_is_wanted(value, "a function", way)


def check_duration(value: object, other_way: str = "") -> None:
    """Raises TypeError unless it is a timedelta or None."""
    if value is None or isinstance(value, timedelta):
        return
    is_number = isinstance(value, int | float)
    way = f"timedelta(seconds={value!r})" if is_number else "a timedelta"
    raise not_what_is_wanted(value, "a duration", way + (other_way and f" or {other_way}"))


def check_boolean(value: object) -> None:
    """Raises TypeError unless it is one, None too."""
    if value is None:
        raise not_what_is_wanted(value, "a boolean", "True or False")
    boolean(value)  # type: ignore[arg-type]


def boolean(value: bool | None) -> Argument:
    if value is None:
        return None
    if value not in (True, False):  # those of NumPy are these
        raise not_what_is_wanted(value, "a boolean", "True or False")
    return str(bool(value))


def instant(value: datetime | None) -> Argument:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise not_what_is_wanted(value, "an instant", "an aware datetime, as datetime.now(UTC) is")
    if value.utcoffset() is None:
        raise ValueError(f"{value!r} has no time zone: pass an aware datetime")
    return value.isoformat()


def interval(value: Interval | None) -> str | None:
    """A timedelta in seconds, since a day of an interval has 23 or 25 hours twice a year."""
    if value is None or isinstance(value, str):
        return text(value)
    check_duration(value, "text as '90 seconds'")
    microseconds = value // timedelta(microseconds=1)
    seconds, rest = divmod(abs(microseconds), 1_000_000)
    return f"{'-' if microseconds < 0 else ''}{seconds}.{rest:06d} seconds"


_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def json_value(value: Json | Default) -> str | None:
    """JSON text; None is the JSON null."""
    if value is DEFAULT:
        return None
    try:
        dumped = value if isinstance(value, JsonText) else _ENCODER.encode(value)
    except ValueError as error:  # NaN, Infinity, a list in itself
        raise ValueError(f"not a JSON value: {error}") from error
    except TypeError as error:  # a type that JSON has not
        raise TypeError(f"{error}: convert it, or pass encode=Codec().encode") from error
    if "\\u0000" in dumped and _NUL.search(dumped):
        raise ValueError("a text in a JSON value holds a NUL character, which jsonb cannot store")
    return _storable(str(dumped))


def header_texts(values: Mapping[str, str] | None) -> Argument:
    return None if values is None else json_value(_headers(values))


def result_value(value: Json) -> str | None:
    """JSON text; None is no result."""
    return None if value is None else json_value(value)


def texts(values: Iterable[str | None] | None) -> Argument:
    return None if values is None else array(map(text, several(values)))


def integers(values: Iterable[int] | None) -> Argument:
    return None if values is None else array(map(integer, several_ids(values)))


def intervals(values: Iterable[Interval] | None) -> Argument:
    return None if values is None else array(map(interval, several(values)))


def json_values(values: Iterable[Json] | None) -> Argument:
    return None if values is None else JsonList(map(json_value, several(values)))


def result_values(values: Iterable[Json] | None) -> Argument:
    return None if values is None else JsonList(map(result_value, several(values)))


def key_paths(values: Iterable[Iterable[str]] | None) -> Argument:
    return None if values is None else json_value(_paths(values))


def job_list(values: Iterable[NewJob] | None) -> Argument:
    if values is None:
        return None
    jobs = [_numbered(number, value) for number, value in enumerate(several(values), 1)]
    has_text = any(isinstance(job.get("payload"), JsonText) for job in jobs)
    return json_value(JsonText(write(jobs)) if has_text else jobs)


def job_filter(value: JobFilter | JobSearch | None) -> Argument:
    if value is None:
        return None
    wanted = _converted(value)
    is_text = isinstance(wanted.get("payload"), JsonText)
    return json_value(JsonText(write(wanted)) if is_text else wanted)


def _converted(value: NewJob | JobFilter | JobSearch) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise not_what_is_wanted(value, "an object", "a dict")
    found = {}
    for key, part in value.items():
        try:
            found[key] = _IN_AN_OBJECT.get(key, _unchanged)(part)
        except TypeError as error:
            raise TypeError(f"{key}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return found


def _numbered(number: int, job: NewJob) -> dict[str, Any]:
    try:
        return _converted(job)
    except TypeError as error:
        raise TypeError(f"job {number}: {error}") from None
    except ValueError as error:
        raise ValueError(f"job {number}: {error}") from None


def _unchanged(value: Any) -> Any:
    return value


def _headers(values: Mapping[str, str] | None) -> dict[str, str] | None:
    if values is None:
        return None
    if not isinstance(values, Mapping):
        raise not_what_is_wanted(values, "an object", "a dict of texts")
    return dict(values)


def _list_of(convert: Any) -> Any:
    return lambda values: None if values is None else [convert(v) for v in several(values)]


def _number(value: int | None) -> int | None:
    found = integer(value)
    return None if found is None else int(found)


def _switch(value: bool | None) -> bool | None:
    return None if boolean(value) is None else bool(value)


_paths = _list_of(_list_of(_unchanged))
_IN_AN_OBJECT: Mapping[str, Any] = {
    "priority": _number,
    "max_attempts": _number,
    "extra_attempts": _number,
    "retry_backoff": _switch,
    "queue": text,
    "job_type": text,
    "singleton_key": text,
    "dedup_id": text,
    "on_duplicate": text,
    "on_failed": text,
    "worker_id": text,
    "error": text,
    "tags": _list_of(text),
    "ids": _list_of(_number),
    "states": _list_of(text),
    "run_at": instant,
    "delay": interval,
    "retry_delay": interval,
    "backoff_schedule": _list_of(interval),
    "keys_if_undelivered": _paths,
    "after": _list_of(_number),
    "debounce": interval,
    "max_wait": interval,
    "after_ordinals": _list_of(_number),
    "headers": _headers,
    "failed_after": instant,
    "failed_before": instant,
    "created_after": instant,
    "created_before": instant,
    "ended_after": instant,
    "ended_before": instant,
}


def several(values: Iterable[Any]) -> Iterable[Any]:
    """A text is an iterable of texts too, but never what was meant."""
    if isinstance(values, str | bytes | Mapping):
        raise TypeError(f"{reprlib.repr(values)} is one value: pass a list")
    if not isinstance(values, Iterable):
        raise not_what_is_wanted(values, "a list", "a list")
    return values


def several_ids(values: Iterable[int]) -> Iterable[int]:
    """What came of each job, by its id, is a list of ids too."""
    return values.keys() if isinstance(values, Mapping) else several(values)


def _storable(value: str) -> str:
    if "\0" in value:
        raise ValueError(f"{value!r} holds a NUL character, which PostgreSQL cannot store")
    if not value.isascii():
        value.encode()  # half of a surrogate pair is a UnicodeEncodeError, a ValueError
    return value


def array(items: Iterable[str | None]) -> str:
    """The text of an array."""
    return "{" + ",".join(map(_item, items)) + "}"


def _item(value: str | None) -> str:
    if value is None:
        return "NULL"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


_OPTIONS: Mapping[str, Any] = {
    "priority": integer,
    "singleton_key": text,
    "tags": texts,
    "run_at": instant,
    "delay": interval,
    "max_attempts": integer,
    "retry_delay": interval,
    "retry_backoff": boolean,
    "backoff_schedule": intervals,
    "keys_if_undelivered": key_paths,
    "dedup_id": text,
    "on_duplicate": text,
    "headers": header_texts,
    "after": integers,
    "on_failed": text,
    "debounce": interval,
    "max_wait": interval,
}


def check_options(options: Mapping[str, Any]) -> None:
    """Raises what is wrong with options of a job before there is one."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise TypeError(f"there is no option {name!r}: pass some of {', '.join(_OPTIONS)}")
        _OPTIONS[name](value)
