"""pgtap/coverage.py: what it makes of counts and reasons. What it counts, `make coverage` shows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PGTAP = Path(__file__).parents[2] / "pgtap"


@pytest.fixture
def coverage(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PGTAP))
    spec = importlib.util.spec_from_file_location("pgtap_coverage", PGTAP / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_each_uncovered_statement_needs_a_reason_and_each_reason_a_statement(
    coverage: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    uncovered = [
        coverage.Statement("_a", 1, "return 0;"),
        coverage.Statement("_a", 4, "return 0; (2)"),
    ]
    reasons = {("_a", "return 0;"): "two sessions", ("_b", "x := 1;"): "gone"}
    assert coverage.judge(uncovered, uncovered, reasons) == [
        "no reason in uncovered.txt: _a # return 0; (2)",
        "stale in uncovered.txt: _b # x := 1;",
    ]
    printed = capsys.readouterr().out
    assert "never ran: _a: return 0; (two sessions)" in printed
    assert "never ran: _a: return 0; (2) (NO REASON)" in printed


def test_reasons_are_read(coverage: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "uncovered.txt"
    file.write_text("# a comment\n\n_a # x := 1;  -- note # because\n")
    assert coverage.read_reasons(file) == {("_a", "x := 1;  -- note"): "because"}
    file.write_text("_a # x := 1; # \n")
    with pytest.raises(ValueError, match="_a"):
        coverage.read_reasons(file)
    file.write_text("_a # x := 1;\n")
    with pytest.raises(ValueError, match="_a"):
        coverage.read_reasons(file)


def test_the_total_and_its_figures(
    coverage: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(coverage, "FIGURES", tmp_path / "proof" / "coverage.json")
    counts = coverage.Counts()
    for number, runs in enumerate([3, 1, 0, 7]):
        counts.runs[coverage.Statement("_a", number, f"line {number}")] = runs
    counts.runs[coverage.Statement("_b", 1, "return;")] = 0
    assert coverage.report(counts) == 60
    coverage.note_figures(counts)
    assert (tmp_path / "proof" / "coverage.json").read_text() == (
        '{"statements": 5, "statements_covered": 3}\n'
    )
    assert capsys.readouterr().out.splitlines() == [
        "  75.0 %    3/4    _a",
        "   0.0 %    0/1    _b",
        "  60.0 %  3/5 statements of 2 functions",
    ]
    assert [s.line for s in counts.uncovered()] == ["line 2", "return;"]
