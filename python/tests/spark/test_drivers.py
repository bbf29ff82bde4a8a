"""What hangs is killed, so that no test and no end of one waits for ever."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import drivers
import psutil
import pytest


def test_a_driver_that_is_still_at_work_ends_with_its_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with drivers.driver(None, tmp_path) as found:
        monkeypatch.setattr(drivers, "SECONDS", 1)
        work = found.start(time.sleep, 600)
        with pytest.raises(TimeoutError):
            work.result()
    assert not psutil.pid_exists(found.pid)


def test_a_program_whose_child_holds_its_output_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "SECONDS", 1)
    child = "import time; time.sleep(600)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with pytest.raises(subprocess.TimeoutExpired):
        drivers.run_program([sys.executable, "-c", parent])
