"""What a call of a client sends, and what comes back of it.

`select * from pgbaton.name(parameter => value, ...)`, with the parameters that were given and no
others, so that defaults are the server's. Results come in binary form, which does not depend on
the DateStyle and IntervalStyle of the session.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from struct import Struct
from typing import Any
from weakref import WeakSet

from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader, PyFormat
from psycopg.postgres import register_default_adapters, types
from psycopg.pq import Format

from pgbaton import _jsonb, install
from pgbaton._arguments import Argument, JsonList
from pgbaton._assemble import number
from pgbaton._json_text import JsonText
from pgbaton.errors import IncompatibleServer
from pgbaton.models import UnreadableJson

Rows = list[tuple[Any, ...]]
Required = Mapping[str, Argument]

CHECKED: WeakSet[object] = WeakSet()
"""Connections of drivers over which versions were compared: a client a request asks no more."""


class JsonbLoader(Loader):
    """Reads jsonb in the client_encoding of its connection; psycopg's own takes it for UTF-8."""

    format = Format.BINARY

    def load(self, data: Buffer) -> Any:
        encoding = self.connection.info.encoding if self.connection else "utf-8"
        return parsed(str(bytes(data)[1:], encoding))  # the first byte is a version


def parsed(text: str) -> Any:
    """JSON as Python has it. One value that it cannot read must not cost the rows around it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return UnreadableJson(text, str(error).partition(";")[0])


class JsonTextLoader(JsonbLoader):
    """Leaves jsonb as the text that the server sent."""

    def load(self, data: Buffer) -> JsonText:
        encoding = self.connection.info.encoding if self.connection else "utf-8"
        return JsonText(str(bytes(data)[1:], encoding))


class JsonListDumper(Dumper):
    """Writes a list of JSON texts as a jsonb[]."""

    format = Format.BINARY
    oid = _jsonb.ARRAY_OID

    def dump(self, obj: JsonList) -> bytes:
        encoding = self.connection.info.encoding if self.connection else "utf-8"
        parts = [_jsonb.array_head(len(obj))]
        for text in obj:
            if text is None:
                parts.append(_jsonb.NULL)
            else:
                data = text.encode(encoding)
                parts += (_ELEMENT.pack(len(data) + 1, _jsonb.VERSION), data)
        return b"".join(parts)


_ELEMENT = Struct("!iB")

_PLAIN = AdaptersMap(types=types)
"""What psycopg does by itself."""
register_default_adapters(_PLAIN)
_TEXT_DUMPER = _PLAIN.get_dumper(str, PyFormat.AUTO)
_JSONB = types["jsonb"].oid
_OIDS = tuple(types[name].oid for name in ("int8", "interval", "timestamptz"))
_LOADERS = [(oid, _PLAIN.get_loader(oid, Format.BINARY)) for oid in _OIDS]
"""Of types that a program may want to have as something else."""


def adapt(adapters: AdaptersMap, jsonb_loader: type[Loader]) -> None:
    """For a cursor of ours: what others have registered for their own statements does not count."""
    adapters.register_loader(_JSONB, jsonb_loader)
    adapters.register_dumper(JsonList, JsonListDumper)
    if adapters.get_dumper(str, PyFormat.AUTO) is not _TEXT_DUMPER:
        adapters.register_dumper(str, _TEXT_DUMPER)
    for oid, loader in _LOADERS:
        if loader is not None and adapters.get_loader(oid, Format.BINARY) is not loader:
            adapters.register_loader(oid, loader)


def as_it_is(value: Any) -> Any:
    """Reads a value that may be None, or is what psycopg makes of it."""
    return value


def json_object(value: Any) -> dict[str, Any]:
    """Reads an object of the server's own making."""
    return dict(json.loads(value) if isinstance(value, JsonText) else value)


@lru_cache
def statement(function: str, parameters: tuple[str, ...]) -> bytes:
    arguments = ", ".join(f"{name} => %({name})s" for name in parameters)
    # Both are names in this package's own source.
    return f"select * from pgbaton.{function}({arguments})".encode()  # noqa: S608


def check_version(theirs: str) -> None:
    """Raises IncompatibleServer unless this package works with that version of pgbaton."""
    ours = install.version()
    if not _works_with(ours, theirs):
        raise IncompatibleServer(
            f"the database has pgbaton {theirs}, which this package, {ours}, does not work with"
        )


def _works_with(ours: str, theirs: str) -> bool:
    """The database is upgraded before its clients: they work with the next minor version too."""
    (our_major, our_minor, *_), (their_major, their_minor, *_) = map(number, (ours, theirs))
    if our_major == their_major == 0:
        return their_minor in (our_minor, our_minor + 1)
    return our_major == their_major
