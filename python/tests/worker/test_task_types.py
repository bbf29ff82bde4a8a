"""mypy takes right calls of a task and refuses wrong ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from pgbaton import _assemble

SAMPLE = Path(__file__).with_name("typed_calls.py")
NOTED = re.compile(r"# \[([\w-]+)\]")
FOUND = re.compile(r"typed_calls\.py:(\d+): error: .*\[([\w-]+)\]")


def test_mypy_refuses_wrong_calls_and_only_those() -> None:
    root = _assemble.source_root()
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(SAMPLE)],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "MYPYPATH": str(root / "python")},
    )
    lines = enumerate(SAMPLE.read_text("utf-8").splitlines(), 1)
    wanted = {(n, found[1]) for n, line in lines if (found := NOTED.search(line))}
    found = {(int(n), code) for n, code in FOUND.findall(said.stdout)}
    assert found == wanted, said.stdout + said.stderr
    assert len(wanted) > 8
