"""Free runs with crashes: whatever history comes of it keeps every rule."""

from __future__ import annotations

import os
import random

import pytest
from controller import free_run
from free_run import report
from proof import record


def check(seconds: float, name: str) -> None:
    seed = int(os.environ.get("PGBATON_SEED", random.randrange(10**6)))
    done = free_run(seconds, seed)
    said = report(done.history)
    assert not said, f"PGBATON_SEED={seed}\n{said}"
    assert done.history.claims
    assert done.crashes
    record(name, **done.figures())


@pytest.mark.timeout(300)
def test_a_short_run() -> None:
    check(12, "history_short")


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_a_long_run() -> None:
    check(120, "history_long")
