"""docs/tutorial.md is one psql session: it runs from top to bottom and prints what it shows."""

from __future__ import annotations

import re

import pytest
from psql_pages import assert_prints_what_it_shows, comparable, steps

from pgbaton import _assemble

PAGE = _assemble.source_root() / "docs" / "tutorial.md"


def test_the_page_shows_what_psql_prints(dsn: str) -> None:
    assert_prints_what_it_shows(PAGE, dsn)


def test_it_comes_past_every_part_of_the_contract() -> None:
    text = "\n".join(step.statements for step in steps(PAGE))
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
