"""JSON that only passes through: as text, so that no number of it goes through a float."""

from __future__ import annotations

import json
import re
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


class JsonText(str):
    """The text of a JSON value, where others have the value."""

    __slots__ = ()


def _no_json(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _no_fraction(number: str) -> Any:
    raise ValueError(f"{number[:40]} is not a whole number, written without a point or exponent")


# It only looks whether something is JSON: a number needs no value, and may have any length.
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_json)
_READER = json.JSONDecoder(parse_constant=_no_json)
_WHOLE_READER = json.JSONDecoder(parse_float=_no_fraction, parse_constant=_no_json)


def read(text: str) -> Any:
    """The value, with floats.

    Raises:
        ValueError: it is no JSON, or has an integer of too many digits for Python.
        RecursionError: it is nested too deeply.
    """
    return _READER.decode(text)


def read_whole(text: str) -> Any:
    """The value, in which numbers are whole; raises what `read` does, and for other numbers."""
    return _WHOLE_READER.decode(text)


def checked(text: str) -> JsonText:
    """The same text, if it is JSON; raises what `read` does, however long its numbers are."""
    _SCANNER.decode(text)
    return JsonText(text)


def members_of(text: str) -> dict[str, JsonText] | None:
    """The members of an object as they are written; None if it is JSON and no object."""
    place = _after_space(text, 0)
    if text[place : place + 1] != "{":
        checked(text)
        return None
    checked(text)  # so what follows need not look for mistakes
    found: dict[str, JsonText] = {}
    place = _after_space(text, place + 1)
    while text[place] != "}":
        name, place = _SCANNER.raw_decode(text, place)
        start = _after_space(text, _after_space(text, place) + 1)  # after the colon
        _, end = _SCANNER.raw_decode(text, start)
        found[name] = JsonText(text[start:end])
        place = _after_space(text, end)
        if text[place] == ",":
            place = _after_space(text, place + 1)
    return found


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def write(value: Any) -> str:
    """JSON without spaces of a value whose parts may be JsonText."""
    if isinstance(value, JsonText):
        return "".join(_TOKEN.findall(value))
    if isinstance(value, dict):
        members = (f"{_ENCODER.encode(str(k))}:{write(part)}" for k, part in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(write, value)) + "]"
    return _ENCODER.encode(value)


def pretty(text: str) -> str:
    """The same JSON with a line for each member, as `json.dumps(indent=2)` lays it out."""
    parts: list[str] = []
    depth = 0
    before = ""
    for part in _TOKEN.findall(text):
        opened, closes = before in ("{", "["), part in ("}", "]")
        depth += opened - closes
        if before == "," or opened != closes:
            parts.append("\n" + "  " * depth)
        parts.append(": " if part == ":" else part)
        before = part
    return "".join(parts)
