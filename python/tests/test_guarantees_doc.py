"""docs/guarantees.md is complete, and every test that it names is there."""

# ruff: noqa: RUF001 - the clauses stand here as they stand in the list

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from pgbaton import _assemble

ROOT = _assemble.source_root()
PAGE = ROOT / "docs" / "guarantees.md"
PITFALL_TESTS = ROOT / "python" / "tests" / "pitfalls"
MISSING = "none yet"

PROMISES = """
    Order; No wait behind strangers; One owner; No lost job; Flat under an old snapshot;
    Plain SQL is enough; Finishing never waits for a producer; Limits are exact"""
PITFALLS = """
    F01 Swallowed unique violation; F02 SKIP LOCKED slide; F03 Snapshot count race;
    F04 Two of a key in one batch; F05 Priority jump inside a key; F06 Tie order;
    F07 Commit-order inversion; F08 Retry jump; F09 Retry to the tail; F10 Scheduled head;
    F11 Retention unblocks; F12 DLQ move unblocks; F13 Redrive position; F14 Cancel frees early;
    F15 Zombie unblocks; F16 Stale recovery gap; F17 Hot blocked key hides others;
    F18 Whole-queue GROUP BY; F19 Locks on all groups; F20 Prefetch breaks serial;
    F21 Lost promotion; F22 Over-release; F23 Default group; F24 Hash collision/resize;
    F25 Counter gap; F26 Key lost on copy; F27 Group-claim drags failed member;
    F28 Cross-queue key; F29 Edits; F30 Delete/skip of a non-head"""
FLOWS = """
    D01 Fan-in lost; D02 Callback runs twice; D03 A member ran twice; D04 Counter expires before
    the results; D05 Parent pruned before the child looked; D06 Parent finished or gone; D07
    Matches nothing, counts as satisfied; D08 Failed parent leaves the child for ever; D09 Not
    every end propagates; D10 Retry counted as done; D11 Revived member; D12 Empty group; D13
    Members finish before the group is closed; D14 Polling for the join; D15 Cycles; D16 `hold`
    ends by deletion; D17 Order inside a flow against limits; D18 Parent that has children is
    not retried; D19 Leftovers of a finished tree; D20 Whole-workflow time limit missing"""
LIMITS = """
    L01 Count under a snapshot; L02 SKIP LOCKED and a shared budget; L03 Over-admission by
    position; L04 Lock released before the write; L05 Slot freed twice; L06 Limit ends
    before the job does; L07 Slot lost after a crash; L08 Restart bypasses the limit; L09
    Blocked for ever; L10 Full key in front hides the rest; L11 Runs below the limit; L12
    Limit change has no effect or breaks; L13 Over the limit by refused starts; L14 Waiters
    hold worker threads; L15 Thundering wake-up; L16 Hot counter row; L17 Deadlock on the
    counter; L18 Two gates, one bypassed; L19 Round robin not round; L20 Fairness only
    local; L21 Retry gets a different key; L22 Lost partition key in memory; L23 Empty state
    read as does not exist; L24 Delayed job and its slot; L25 One busy queue delays the
    others; R01 Two-fold burst at the border; R02 Window stops at midnight; R03 Starts or
    runs; R04 One exhausted key blocks all; R05 Per-key budget counted globally; R06 Waiting
    for budget eats attempts; R07 Retries and delayed jobs slip past; R08 Limited work
    blocks unlimited work; R09 Rate claim locks the backlog; R10 Group limit acts as
    concurrency 1; R11 Pause until by one resume job; R12 Rate state of many keys"""
REPLACING = """
    P01 Replace meets a claim, and the request is lost; P02 While it runs, replacements
    pile up; P03 A duplicate of a running job loses news; P04 Debounce drops work; P05
    Debounce never fires; P06 Stale dedup entry; P07 Off by one, and orphans at the cap;
    P08 A completed job blocks new ones; P09 A retry collides with the waiting twin; P10
    Unique against an insert that is rolled back; P11 Replace changes more than asked; P12
    A moved job runs at the wrong place; P13 A move meets a claim; P14 A sequence is burnt
    by upserts; P15 Contention of debounced events"""
WAITING = """
    W01 Finished before the listen; W02 Job removed, the wait never ends; W03 No time limit; W04
    Connection lost, hangs for ever; W05 Leaks of waiters, channels, connections; W06 Shared
    reader lock starves a waiter; W07 Waiting inside a job; W08 Wait during replace or retry"""
RETRIES = """
    T01 Same delay for all; T02 Growth without cap; T03 Curve not settable; T04 Counters mixed;
    T05 Default changed for old jobs?; T06 Recovery job itself is stuck"""
CLAUSES = {
    "Recovery": """
        kill -9 mid-job; pause 3× lease then finish; restart the server;
        recover with limit slots full; 10k unrecoverable rows ahead of one recoverable""",
    "Fencing": """
        every worker call with an old token; a random token; no token; another job's token""",
    "Cancel": """
        waiting; running with ack; running without ack (lease end); during retry wait;
        of a head with siblings; twice; after completion""",
    "Poison": "process exit in handler N times",
    "Batch": """
        partial success; duplicate ids in one call; mixed owners; empty and NULL arrays;
        100k rows""",
    "Concurrency": """
        two sessions completing/enqueuing in opposite order (no 40P01);
        claim inside RR/SERIALIZABLE; claim left uncommitted for a minute while others claim;
        enqueue left uncommitted on a hot key""",
    "Plans": """
        claim, recover, promote, stats at 0, 10³, 10⁶, 10⁷ rows; stale statistics;
        6th prepared execution; 99 % one key; index used without seq scan""",
    "Bloat": "old snapshot for 10 minutes under load",
    "Notify": "worker asleep, nobody else on the server; one notification until it comes back;"
    " due times and lease ends; another role's worker of the same name; old snapshot;"
    " deaf listener; listener killed; half-open; queue full; mixed-case names; 9 kB payload",
    "Pooler": "size 1; two clients; prepared on/off",
    "Failover": "`default_transaction_read_only`; standby; 57P01 mid-complete",
    "Time": """
        client clock ±5 min; session TimeZone and DateStyle changed; DST both ways; `infinity`;
        intervals with months""",
    "Text": "NUL; lone surrogate; 1 MB error; 50 MB payload; deep JSON; non-UTF-8 database",
    "Names": "quotes; upper case; 63+ bytes; empty; unicode",
    "Ids": "sequence near 2^31 and 2^63",
    "Security": """
        low role with `pg_temp` shadows; PUBLIC execute; definer escalation; cross-queue ack;
        hostile search_path; RLS on""",
    "Schema": """
        install twice; upgrade N−1→N under load; downgrade refused; signatures exact;
        dump/restore; publication FOR ALL TABLES""",
    "Retention": """
        purge never frees a blocked key; purge with lock-holder; partitions missing""",
    "Spark": """
        task retry; speculation; 1,000 partitions with 20 connections; driver killed half-way;
        schema with nulls""",
}
# Clauses that have no test yet: whoever writes one takes it out here.
WITHOUT_TEST: set[str] = set()


@dataclass(frozen=True)
class Row:
    name: str
    tests: str
    cells: tuple[str, ...]


def names(text: str) -> list[str]:
    return [" ".join(name.split()) for name in text.split(";")]


def rows(title: str, header: list[str]) -> list[Row]:
    """The table under a title; a row's name is its first column, or its first two."""
    parts = re.split(r"^## (.*)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    text = dict(zip(parts[1::2], parts[2::2], strict=True))[title]
    head, rule, *lines = [line for line in text.splitlines() if line.startswith("|")]
    assert cells(head) == header
    assert set(rule) == {"|", "-"}
    found = []
    for line in lines:
        row = cells(line)
        assert len(row) == len(header), line
        name = " ".join(row[: 1 if title == "Promises" else 2])
        found += [Row(name, row[header.index("test")], tuple(row))]
    return found


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:-1].split("|")]


PROMISED = rows("Promises", ["promise", "in one sentence", "test"])
HELD = rows("Pitfalls F01 to F30", ["row", "pitfall", "what we promise", "test"])
FLOWS_HELD = rows(
    "Jobs that wait for jobs D01 to D20", ["row", "pitfall", "what we promise", "test"]
)
LIMITS_HELD = rows("Limits and rates L01 to R12", ["row", "pitfall", "what we promise", "test"])
REPLACING_HELD = rows(
    "Jobs that replace others, or are moved, P01 to P15",
    ["row", "pitfall", "what we promise", "test"],
)
WAITING_HELD = rows("Waiting for results W01 to W08", ["row", "pitfall", "what we promise", "test"])
RETRIES_HELD = rows("Retries T01 to T06", ["row", "pitfall", "what we promise", "test"])
OTHERS = rows("Other classes", ["class", "clause", "test", "note"])
PITFALLS_HELD = (
    *HELD,
    *FLOWS_HELD,
    *LIMITS_HELD,
    *REPLACING_HELD,
    *WAITING_HELD,
    *RETRIES_HELD,
)
EVERY = (*PROMISED, *PITFALLS_HELD, *OTHERS)


def what_is_wrong(tests: str) -> list[str]:
    """Of the tests of a cell: `path`, `path::function`, or `path::words` of one assertion.

    In a Python file the words are the name of a parametrized case, in its quotes.
    """
    wrong = []
    for entry in tests.split("<br>"):
        match = re.fullmatch(r"`([^`:]+)(?:::([^`]+))?`", entry)
        if not match:
            wrong.append(f"{entry!r} is not `path::name`")
            continue
        path, name = match[1], match[2]
        file = ROOT / path
        if not (file.is_file() and path.startswith(("pgtap/", "python/tests/"))):
            wrong.append(f"{path} is no test")
        elif name:
            is_words = path.startswith("pgtap/") or name.startswith('"')
            if (name if is_words else f"def {name}(") not in file.read_text("utf-8"):
                wrong.append(f"{path} has no {name}")
    return wrong


def test_every_test_that_is_named_is_there() -> None:
    tested = [row for row in EVERY if row.tests != MISSING]
    assert [(row.name, wrong) for row in tested if (wrong := what_is_wrong(row.tests))] == []


def test_what_has_no_test_is_known() -> None:
    missing = {row.name for row in EVERY if row.tests == MISSING}
    print(f"{len(missing)} of {len(OTHERS)} clauses have no test yet: {sorted(missing)}")
    assert missing == WITHOUT_TEST


def test_the_list_is_complete() -> None:
    assert [row.name for row in PROMISED] == names(PROMISES)
    assert [row.name for row in HELD] == names(PITFALLS)
    assert [row.name for row in FLOWS_HELD] == names(FLOWS)
    assert [row.name for row in LIMITS_HELD] == names(LIMITS)
    assert [row.name for row in REPLACING_HELD] == names(REPLACING)
    assert [row.name for row in WAITING_HELD] == names(WAITING)
    assert [row.name for row in RETRIES_HELD] == names(RETRIES)
    clauses = [f"{group} {clause}" for group, text in CLAUSES.items() for clause in names(text)]
    assert [row.name for row in OTHERS] == clauses
    assert set(clauses) >= WITHOUT_TEST


def test_a_pitfall_is_held_by_tests_of_its_number() -> None:
    for row in PITFALLS_HELD:
        named = re.findall(r"::(\w+)", row.tests)
        assert named, row.name
        number = f"_{row.name[:3].lower()}_"
        assert all(name.startswith("test_") and number in name for name in named), row.name
        assert row.cells[2], row.name


def test_every_pitfall_test_is_named() -> None:
    text = PAGE.read_text("utf-8")
    tests = {
        f"python/tests/pitfalls/{file.name}::{name}"
        for file in PITFALL_TESTS.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", file.read_text("utf-8"), re.MULTILINE)
    }
    assert len(tests) > 60
    assert {test for test in tests if f"`{test}`" not in text} == set()


@pytest.mark.parametrize(
    ("tests", "says"),
    [
        ("`python/tests/nowhere.py::test_x`", "is no test"),
        ("`README.md`", "is no test"),
        ("`python/tests/test_proof.py::test_no_such_name`", "has no"),
        ("`python/tests/test_proof.py::import`", "has no"),
        ('`python/tests/test_proof.py::"no such case"`', "has no"),
        ("`pgtap/plans/hot_calls.pg::no such words`", "has no"),
        ("", "is not"),
        ("later", "is not"),
    ],
)
def test_it_notices(tests: str, says: str) -> None:
    [wrong] = what_is_wrong(tests)
    assert says in wrong
