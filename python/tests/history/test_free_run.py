"""Free runs with crashes: whatever history comes of it keeps every rule."""

from __future__ import annotations

import os
import random

import pytest
from controller import free_run
from free_run import report
from proof import record


def check(seconds: float, name: str, level: str | None = None) -> None:
    seed = int(os.environ.get("PGBATON_SEED", random.randrange(10**6)))
    done = free_run(seconds, seed, level=level)
    said = report(done.history)
    assert not said, f"PGBATON_SEED={seed}\n{said}\n{done.deadlocks}"
    assert done.history.claims
    assert done.crashes
    record(name, **done.figures())


@pytest.mark.timeout(300)
def test_a_short_run() -> None:
    check(12, "history_short")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_short_run_at_one_level(level: str) -> None:
    """Nobody is there who sees more than a snapshot of its own."""
    check(8, f"history_{level.replace(' ', '_')}", level)


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_a_long_run() -> None:
    check(120, "history_long")
