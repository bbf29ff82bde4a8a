"""Rows become objects by the names of their columns."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from pgbaton import (
    BlockedKey,
    FifoStat,
    IncompatibleServer,
    JobState,
    OnExhausted,
    QueuePolicy,
    Verdict,
)
from pgbaton.models import read_rows

ENUMS = {
    "job_state": JobState,
    "queue_policy": QueuePolicy,
    "on_exhausted": OnExhausted,
}


def test_columns_are_found_by_name_and_unknown_ones_left_out() -> None:
    columns = ["news", "verdict", "job_id", "ordinal"]
    assert read_rows(Verdict, columns, [("x", "ok", 7, 1)]) == [Verdict(1, 7, "ok")]


def test_a_missing_column_is_an_error_that_names_it() -> None:
    with pytest.raises(IncompatibleServer, match="lacks job_id, verdict of Verdict"):
        read_rows(Verdict, ["ordinal"], [(1,)])


def test_results_are_frozen_and_have_no_dict() -> None:
    verdict = Verdict(1, 7, "ok")
    with pytest.raises(FrozenInstanceError):
        verdict.verdict = "lost"  # type: ignore[misc]
    assert not hasattr(verdict, "__dict__")


@pytest.mark.parametrize("state", [b"failed", "failed"])
def test_enums_are_read_from_their_binary_and_their_text_form(state: object) -> None:
    names = list(BlockedKey.__annotations__)
    [row] = read_rows(BlockedKey, names, [tuple(state if n == "state" else 1 for n in names)])
    assert row.state is JobState.FAILED


@pytest.mark.parametrize(("sent", "read"), [(b"failed", JobState.FAILED), (None, None)])
def test_an_enum_may_be_missing(sent: bytes | None, read: JobState | None) -> None:
    names = list(FifoStat.__annotations__)
    [row] = read_rows(FifoStat, names, [tuple(sent if n == "current_state" else 1 for n in names)])
    assert row.current_state is read


@pytest.mark.parametrize("name", ENUMS)
def test_enums_have_the_labels_of_the_database(conn, name: str) -> None:  # type: ignore[no-untyped-def]
    [(labels,)] = conn.execute(
        f"select enum_range(null::pgbaton.{name})::text[]".encode()
    ).fetchall()
    assert labels == list(ENUMS[name])
