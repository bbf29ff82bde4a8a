"""What must be true at the end, asked of the history in the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
from psycopg.rows import class_row

from pgbaton.demo._worker import AIRCRAFT, UNKNOWN_AIRCRAFT, Report

Legs: TypeAlias = dict[str | None, int]

# In the order in which they were claimed, the legs of an aircraft must be 1, 2, 3, ..., and none
# may begin before the one before it has ended.
WALK = """
    with flown as (
        select
            f.singleton_key, f.state, f.claimed_at, (f.payload ->> 'leg')::integer as leg,
            row_number() over in_order as place, lag(f.finished_at) over in_order as previous_end
        from pgbaton.finished_jobs as f
        where f.queue = %(queue)s
        window in_order as (
            partition by f.singleton_key order by f.claimed_at, (f.payload ->> 'leg')::integer
        )
    )
    select
        count(*) filter (where state <> 'completed') as not_completed,
        count(*) filter (where leg <> place) as out_of_order,
        count(*) filter (where claimed_at < previous_end) as overlapping
    from flown
"""
COUNTS = """
    select f.singleton_key, count(*)
    from pgbaton.finished_jobs as f
    where f.queue = any(%(queues)s) and f.state = 'completed'
    group by 1
"""
WAITS = """
    select percentile_disc(array[0.5, 0.99]) within group (
        order by extract(epoch from f.claimed_at - f.created_at)::float
    )
    from pgbaton.finished_jobs as f
    where f.queue = any(%(queues)s)
"""
QUEUES = {"queues": [AIRCRAFT, UNKNOWN_AIRCRAFT]}


@dataclass(frozen=True)
class Check:
    """Something that must hold; `found` says what was seen instead."""

    what: str
    holds: bool
    found: str = ""


@dataclass(frozen=True)
class Walk:
    """What is wrong in the history of the aircraft."""

    not_completed: int
    out_of_order: int
    overlapping: int

    @property
    def violations(self) -> int:
        return self.out_of_order + self.overlapping


def walk(connection: psycopg.Connection[Any]) -> Walk:
    with connection.cursor(row_factory=class_row(Walk)) as cursor:
        [found] = cursor.execute(WALK, {"queue": AIRCRAFT}).fetchall()
    return found


def waits(connection: psycopg.Connection[Any]) -> tuple[float, float]:
    """Seconds from enqueue to claim, p50 and p99."""
    [([p50, p99],)] = connection.execute(WAITS, QUEUES).fetchall()
    return p50, p99


def check_history(connection: psycopg.Connection[Any], found: Walk, expected: Legs) -> list[Check]:
    completed: Legs = dict(connection.execute(COUNTS, QUEUES).fetchall())
    wrong = {k for k in completed.keys() | expected.keys() if completed.get(k) != expected.get(k)}
    return [
        Check(
            "every leg of every aircraft completed exactly once",
            not wrong and not found.not_completed,
            f"{len(wrong)} aircraft with another number of legs, "
            f"{found.not_completed} legs not completed",
        ),
        Check(
            "every aircraft flew its legs in order, one at a time",
            not found.violations,
            f"{found.out_of_order} legs out of order, {found.overlapping} begun too early",
        ),
    ]


def check_reports(reports: list[Report], workers: int, jobs: int) -> list[Check]:
    out_of_order = sum(report.out_of_order for report in reports)
    examples = [report.example for report in reports if report.example]
    refused = sum(report.refused for report in reports)
    completed = sum(report.completed for report in reports)
    return [
        Check("every worker ended well", len(reports) == workers, f"{len(reports)} of {workers}"),
        Check(
            "the workers completed every job, and no completion was refused",
            completed == jobs and not refused,
            f"{completed} of {jobs} completed, {refused} refused",
        ),
        Check(
            "no worker got a leg out of order",
            not out_of_order,
            f"{out_of_order}, such as {examples[:1]}",
        ),
    ]
