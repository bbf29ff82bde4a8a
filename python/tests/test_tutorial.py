"""docs/tutorial.md is one psql session: it runs from top to bottom and prints what the page shows.

Times are not compared, nor the widths of tables, which follow from them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgbaton import _assemble
from pgbaton.embedded import default_bindir

PAGE = _assemble.source_root() / "docs" / "tutorial.md"
BLOCK = re.compile(r"```sql\n(.*?)```\n(?:```text\n(.*?)```\n)?", re.DOTALL)
MARK = "-- end of the block --"


@dataclass(frozen=True)
class Step:
    statements: str
    shown: str | None
    """None: the page leaves the output out, because it says nothing."""


def steps() -> list[Step]:
    return [Step(*match.groups()) for match in BLOCK.finditer(PAGE.read_text("utf-8"))]


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


def test_the_page_shows_what_psql_prints(dsn: str) -> None:
    page = steps()
    printed = run(dsn, page)
    assert [
        (step.statements, comparable(out))
        for step, out in zip(page, printed, strict=True)
        if step.shown is not None
    ] == [(step.statements, comparable(step.shown)) for step in page if step.shown is not None]
    for step, out in zip(page, printed, strict=True):
        assert step.shown is not None or "ERROR" not in out, step.statements + out


def test_it_comes_past_every_part_of_the_contract() -> None:
    text = "\n".join(step.statements for step in steps())
    called = set(re.findall(r"pgbaton\.(\w+)\(", text))
    assert {
        "create_queue", "create_fifo_queue", "update_queue", "drop_queue", "set_fifo_mode",
        "enqueue_job", "enqueue_batch", "enqueue_jobs", "claim_job_batch", "complete_job",
        "fail_job", "release_jobs", "blocked_keys", "retry_job", "skip_job", "report_progress",
        "cancel_jobs", "acknowledge_cancellation", "delete_jobs", "list_dead_jobs",
        "requeue_dead_job", "purge_dead_jobs", "kv_list", "subscribe", "publish", "fifo_stats",
        "create_schedule", "grant_queue", "why_not_running", "health", "run_maintenance",
        "queue_stats", "wait_for_jobs", "mark_worker_unresponsive",
    } <= called  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2030-01-01 00:00:00.12+00.", "at 2031-12-31 23:59:59+02."),
        (" a  | b\n---+----\n 1  | 2", "a | b\n----+---\n1 | 2\n"),
    ],
)
def test_only_times_and_widths_are_not_compared(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)
    assert comparable(one) != comparable(one + " more")
