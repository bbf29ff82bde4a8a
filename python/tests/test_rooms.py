"""The rooms of the Python package: who imports whom goes one way, down."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import pgbaton

PACKAGE = Path(pgbaton.__file__).parent
# From the ground up: a room is a folder or file of the package, and imports from lower floors only.
FLOORS = [
    ["_assemble", "_extras", "_json_text", "_jsonb", "_text", "embedded", "errors"],
    ["_arguments", "_spark_zip", "install", "models"],
    ["_calls", "_codec", "_leases", "_listening", "_tracing"],
    ["_foreign"],
    ["_async", "_sync"],
    ["_runtime", "client"],
    ["_producers", "metrics", "spark"],
    ["demo", "http", "tasks"],
    ["worker"],
    ["__init__", "cli", "testing"],
    ["django"],
]

Graph = Mapping[str, set[str]]


def modules() -> dict[str, Path]:
    """Each module by its name within the package."""
    return {
        ".".join(file.relative_to(PACKAGE).with_suffix("").parts): file
        for file in PACKAGE.rglob("*.py")
    }


def imported(source: str) -> Iterator[str]:
    """What a module names after import, also inside functions and for type checkers only."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports of this package are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(name: str, known: Mapping[str, Path]) -> str | None:
    """The module of this package that a full name is or is in."""
    top, *parts = name.split(".")
    if top != "pgbaton":
        return None
    for end in range(len(parts), 0, -1):
        for found in (".".join(parts[:end]), ".".join([*parts[:end], "__init__"])):
            if found in known:
                return found
    return "__init__"


@cache
def imports() -> Graph:
    known = modules()
    graph = {}
    for module, file in known.items():
        found = {module_of(name, known) for name in imported(file.read_text("utf-8"))}
        graph[module] = {other for other in found if other is not None} - {module}
    return graph


def arrows(graph: Graph) -> set[tuple[str, str]]:
    """Between rooms."""
    pairs = {(a.split(".")[0], b.split(".")[0]) for a, found in graph.items() for b in found}
    return {(a, b) for a, b in pairs if a != b}


def arrows_up(graph: Graph) -> set[tuple[str, str]]:
    floor_of = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
    return {(a, b) for a, b in arrows(graph) if floor_of[a] <= floor_of[b]}


def test_every_room_has_a_floor() -> None:
    rooms = [room for floor in FLOORS for room in floor]
    assert sorted(rooms) == sorted({module.split(".")[0] for module in modules()})


def test_no_arrow_goes_up() -> None:
    assert arrows_up(imports()) == set()


def test_a_room_is_no_higher_than_it_must_be() -> None:
    found = arrows(imports())
    for floor, rooms in enumerate(FLOORS[1:], start=1):
        for room in rooms:
            below = {b for a, b in found if a == room}
            assert below & set(FLOORS[floor - 1]), f"{room} can stand lower"


def test_no_circle_of_modules() -> None:
    TopologicalSorter(imports()).prepare()


@pytest.mark.parametrize(
    "source",
    [
        "from pgbaton.cli._errors import sentence",
        "from pgbaton.cli import _errors",
        "import pgbaton.cli._errors",
        "def f():\n    from pgbaton import cli",
        "if TYPE_CHECKING:\n    from pgbaton.cli import app",
    ],
)
def test_an_arrow_up_is_noticed(source: str) -> None:
    known = modules()
    found = {str(module_of(name, known)) for name in imported(source)}
    graph = {**imports(), "http._page": found}
    assert arrows_up(graph) == {("http", "cli")}


def test_a_circle_is_noticed() -> None:
    graph = {**imports(), "http._state": {"http._page"}}
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
