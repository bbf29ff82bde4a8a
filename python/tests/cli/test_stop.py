"""A program is told to end, at whatever moment."""

from __future__ import annotations

import subprocess
import sys

ASKED_AS_A_WAIT_BEGINS = """
import random, signal
from pgbaton.cli._stop import Stop
for _ in range(5000):
    stop = Stop(signal.SIGALRM)
    assert not stop.is_asked()
    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 1e-4))
    assert stop.wait(600)
    assert stop.wait() and stop.is_asked()
print("asked")
"""


def test_it_may_be_asked_at_any_moment_of_a_wait() -> None:
    run = [sys.executable, "-c", ASKED_AS_A_WAIT_BEGINS]
    assert subprocess.run(run, capture_output=True, text=True, timeout=100).stdout == "asked\n"
