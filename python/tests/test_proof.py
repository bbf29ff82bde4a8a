"""The summary of `make proof`: figures are added up, and a missing one is an error."""

from __future__ import annotations

import json
from pathlib import Path

import proof
import pytest


def test_figures_of_all_files_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(dict.fromkeys(proof.NEEDED, 3)))
    (tmp_path / "b.json").write_text(json.dumps({"calls_checked": 4, "crashes_injected": 1_000}))
    sums = proof.totals(tmp_path)
    assert sums["calls_checked"] == 7
    assert proof.summary(sums) == (
        "pitfalls 3/3, histories checked 3, calls 7, crashes injected 1,003,"
        " planted faults caught 3/3, coverage 100.0 %"
    )
    assert proof.is_whole(sums)


def test_a_missed_fault_is_not_whole(tmp_path: Path) -> None:
    figures = {**dict.fromkeys(proof.NEEDED, 3), "planted_faults_caught": 2}
    (tmp_path / "a.json").write_text(json.dumps(figures))
    assert not proof.is_whole(proof.totals(tmp_path))


def test_a_missing_figure_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(dict.fromkeys(proof.NEEDED[1:], 1)))
    with pytest.raises(ValueError, match="no test recorded pitfalls_held in"):
        proof.totals(tmp_path)


def test_a_test_replaces_its_own_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "FOLDER", tmp_path / "proof")
    proof.record("one", calls_checked=1)
    proof.record("one", calls_checked=2)
    assert json.loads((tmp_path / "proof" / "one.json").read_text()) == {"calls_checked": 2}
