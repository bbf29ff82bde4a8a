"""Any sequence of calls against a small model of jobs: see machine.py."""

from __future__ import annotations

import os
from typing import Any

import psycopg
import pytest
from hypothesis import settings
from machine import run_machine
from proof import record

IS_PROOF = bool(os.environ.get("PGBATON_PROOF"))


@pytest.mark.timeout(1200)  # a failure is made as short as possible first, for five minutes at most
def test_any_sequence_of_calls(shared: psycopg.Connection[Any]) -> None:
    how = settings(max_examples=400 if IS_PROOF else 90, stateful_step_count=50)
    record("machine", calls_checked=run_machine(shared, how))
