"""Poison: a job that ends the process of its worker, each time it is tried."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from calls import run_all
from proof import record
from sessions import Clock, Session

HANDLER_THAT_EXITS = """
import os, sys, psycopg
conn = psycopg.connect(sys.argv[1], autocommit=True)
for job in conn.execute(
    "select id from pgbaton.claim_job_batch('w', array['q'], batch_size => 1, lease => '1 minute')"
):
    os.write(1, str(job[0]).encode())
    os._exit(42)
"""


@pytest.mark.parametrize("on_exhausted", ["block", "continue"])
def test_a_handler_that_exits_each_time(
    db: Session, races_dsn: str, clock: Clock, sound: Callable[[], None], on_exhausted: str
) -> None:
    db.rows(
        "select pgbaton.create_fifo_queue('q', max_attempts => 3,"
        " on_exhausted => %s::text::pgbaton.on_exhausted)",
        on_exhausted,
    )
    poison, sibling = db.enqueue("q", "k"), db.enqueue("q", "k")
    for attempt in range(1, 4):
        worker = subprocess.run(
            [sys.executable, "-c", HANDLER_THAT_EXITS, races_dsn],
            stdout=subprocess.PIPE,
            check=False,
        )
        assert worker.returncode == 42
        assert int(worker.stdout) == poison
        assert db.one("select attempt from pgbaton.live_jobs where id = %s", poison) == attempt
        clock.advance("61 seconds")
    assert run_all(db) == ([] if on_exhausted == "block" else [sibling])
    dead = db.rows("select id, attempts, error_message, holds_key from pgbaton.list_dead_jobs('q')")
    assert dead == [(poison, 3, "the lease ended", on_exhausted == "block")]
    sound()
    record(f"poison_{on_exhausted}", crashes_injected=3)
