"""Pages that are one psql session: they run from top to bottom and print what they show.

Times are not compared, nor the widths of tables, which follow from them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pgbaton.embedded import default_bindir

BLOCK = re.compile(r"```sql\n(.*?)```\n(?:```text\n(.*?)```\n)?", re.DOTALL)
MARK = "-- end of the block --"


@dataclass(frozen=True)
class Step:
    statements: str
    shown: str | None
    """None: the page leaves the output out, because it says nothing."""


def steps(page: Path) -> list[Step]:
    return [Step(*match.groups()) for match in BLOCK.finditer(page.read_text("utf-8"))]


def psql() -> Path:
    """That of the server under test, else the one on the path."""
    beside = default_bindir().path / "psql"
    found = beside if beside.exists() else shutil.which("psql")
    assert found, "no psql beside the server and none on the path"
    return Path(found)


def run(dsn: str, steps: list[Step]) -> list[str]:
    """What psql prints for each step, errors last."""
    script = "".join(f"{s.statements}\\echo '{MARK}'\n\\warn '{MARK}'\n" for s in steps)
    done = subprocess.run(
        [psql(), "-X", "-d", dsn],
        input=script,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env={"PGCLIENTENCODING": "UTF8", "PGTZ": "UTC", "LC_ALL": "C"},
    )
    printed = done.stdout.split(MARK + "\n")
    errors = done.stderr.split(MARK + "\n")
    assert len(printed) == len(errors) == len(steps) + 1, done.stderr
    return [out + error for out, error in zip(printed, errors, strict=True)][: len(steps)]


def comparable(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+\d\d", "<time>", text)
    lines = (re.sub(r"-{2,}", "--", re.sub(r" +", " ", line)).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def assert_prints_what_it_shows(
    page: Path, dsn: str, comparable: Callable[[str], str] = comparable
) -> None:
    """A block without shown output must only not be an error."""
    found = steps(page)
    printed = run(dsn, found)
    assert [
        (step.statements, comparable(out))
        for step, out in zip(found, printed, strict=True)
        if step.shown is not None
    ] == [(step.statements, comparable(step.shown)) for step in found if step.shown is not None]
    for step, out in zip(found, printed, strict=True):
        assert step.shown is not None or "ERROR" not in out, step.statements + out
