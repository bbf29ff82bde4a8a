""".ci/sql_text.py sees what is inside of $$, and the list of long functions is current."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from pgbaton import _assemble

ROOT = _assemble.source_root()
FILE = Path("functions/internal/time/_x.sql")
FUNCTION = (
    "create function pgbaton._x() returns void language plpgsql\nas $$\nbegin\n{}\nend;\n$$;\n"
)


@pytest.fixture
def sql_text(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("sql_text")


def test_the_tree_is_clean(sql_text: ModuleType) -> None:
    assert sql_text.main() == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    PERFORM 1;", "PERFORM is written in lower case"),
        ("   perform 1;", "indented by 3"),
        ("\tperform 1;", "a tab"),
        ("    perform 1; ", "blanks at the end"),
        ("    perform 1;\n" * 50, "lines, at most 40"),
    ],
)
def test_what_is_wrong_in_a_body_is_noticed(sql_text: ModuleType, line: str, said: str) -> None:
    found = sql_text.wrong({FILE: FUNCTION.format(line)}, {})
    assert said in "\n".join(found)


def test_a_long_line_is_noticed(sql_text: ModuleType) -> None:
    assert list(sql_text.long_lines(FILE, "-- " + "x" * 118)) != []
    assert list(sql_text.long_lines(FILE, "-- " + "x" * 117)) == []


def test_texts_and_comments_may_say_anything(sql_text: ModuleType) -> None:
    body = "    -- SELECT\n    perform 'SELECT\n  IF THEN';"
    assert sql_text.wrong({FILE: FUNCTION.format(body)}, {}) == []


def test_an_exception_that_is_not_needed_is_noticed(sql_text: ModuleType) -> None:
    found = sql_text.wrong({FILE: FUNCTION.format("    null;")}, {"_x": 50})
    assert found == ["long_functions.txt: _x has at most 40 lines by now"]
