"""docs/states.md and its picture say what pgtap/scenarios/transitions.pg tests."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

import pytest

from pgbaton import _assemble

ROOT = _assemble.source_root()


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "python" / "docs"))
    return importlib.import_module("states")


def test_they_are_current(states: ModuleType) -> None:
    assert states.PAGE.read_text("utf-8") == states.page()
    assert states.PICTURE.read_text("utf-8") == states.drawing()


def test_every_state_has_a_meaning_and_a_place(states: ModuleType) -> None:
    types = (ROOT / "sql" / "schema" / "10_types.sql").read_text("utf-8")
    [body] = re.findall(r"create type pgbaton.job_state as enum \((.*?)\)", types, re.DOTALL)
    names = set(re.findall(r"'(\w+)'", body))
    assert names == {states.state_of(column).split()[0] for column in states.MEANINGS}
    assert names == states.PLACES.keys()


def test_a_new_move_is_noticed(states: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = [*states.cells(), states.Cell("fifo", "skip_job", "stopped", "completed")]
    monkeypatch.setattr(states, "cells", lambda: iter(moved))
    assert states.page() != states.PAGE.read_text("utf-8")
    with pytest.raises(AssertionError, match="stopped"):
        states.drawing()


def test_the_other_pictures_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "python" / "docs"))
    idea = importlib.import_module("idea_picture")
    assert idea.PICTURE.read_text("utf-8") == idea.drawing()
    tables = importlib.import_module("tables_picture")
    assert tables.PICTURE.read_text("utf-8") == tables.drawing()
    schema = "\n".join(f.read_text("utf-8") for f in (ROOT / "sql" / "schema").glob("*.sql"))
    assert [name for name in tables.TABLES if f"create table pgbaton.{name} (" not in schema] == []
