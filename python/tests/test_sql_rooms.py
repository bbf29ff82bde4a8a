"""The rooms of functions/internal: who calls whom goes one way, down."""

from __future__ import annotations

import re
from functools import cache

from pgbaton import _assemble

# From the ground up: a room is a folder, and its functions call each other and lower floors only.
FLOORS = [
    ["time"],
    ["check", "limits"],
    ["find", "who"],
    ["spans", "wake"],
    ["claim", "keys"],
    ["end", "enqueue", "stats"],
    ["after", "retention"],
    ["replace", "staging"],
    ["upkeep"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
NAME = re.compile(r"\bpgbaton\.(_\w+)")


@cache
def rooms() -> dict[str, str]:
    """The room of each internal function."""
    return {
        file.stem: file.parent.name
        for file in _assemble.function_files(_assemble.source_root())
        if _assemble.audience_of(file) == "internal"
    }


def without_comments(source: str) -> str:
    lines = re.sub(r"--.*", "", source)
    return re.split(r"^comment on ", lines, maxsplit=1, flags=re.MULTILINE)[0]


@cache
def calls() -> dict[str, set[str]]:
    """What each internal function names of the others."""
    return {
        file.stem: set(NAME.findall(without_comments(file.read_text("utf-8")))) & rooms().keys()
        - {file.stem}
        for file in _assemble.function_files(_assemble.source_root())
        if _assemble.audience_of(file) == "internal"
    }  # fmt: skip


def arrows_up(graph: dict[str, set[str]]) -> set[tuple[str, str]]:
    return {
        (caller, called)
        for caller, found in graph.items()
        for called in found
        if rooms()[caller] != rooms()[called]
        and FLOOR_OF[rooms()[caller]] <= FLOOR_OF[rooms()[called]]
    }


def test_every_room_has_a_floor() -> None:
    assert set(rooms().values()) == set(FLOOR_OF)


def test_no_arrow_goes_up() -> None:
    assert arrows_up(calls()) == set()


def test_an_arrow_up_is_noticed() -> None:
    planted = calls() | {"_carve": calls()["_carve"] | {"_tend"}}
    assert arrows_up(planted) == {("_carve", "_tend")}
    beside = calls() | {"_pick_spans": calls()["_pick_spans"] | {"_promote"}}
    assert arrows_up(beside) == {("_pick_spans", "_promote")}


def test_a_room_is_no_higher_than_it_must_be() -> None:
    found = {
        (rooms()[caller], rooms()[called]) for caller, names in calls().items() for called in names
    }
    for floor, here in enumerate(FLOORS[1:], start=1):
        for room in here:
            below = {FLOOR_OF[b] for a, b in found if a == room and b != room}
            assert floor - 1 in below, f"{room} can stand lower"
