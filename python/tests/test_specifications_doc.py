"""docs/specifications.md is complete, and every test that it names is there."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from pgbaton import _assemble

ROOT = _assemble.source_root()
PAGE = ROOT / "docs" / "specifications.md"
HEADER = ["section", "sentence", "call", "test", "note"]

# The headings of the specifications, by the title under which the page has them.
SECTIONS = {
    "a: FIFO Queue Design": """
        Problem; Design; New Queue Policy; Database Index; State Transitions; API Changes;
        1. `createFifoQueue(name, options?)`; 2. `send()` Validation; 3. `getBlockedKeys(queue)`;
        4. Unblocking Operations; 5. `work()` / `fetch()`; Implementation Tasks""",
    "b: Queues": """
        Overview; Enqueuing Messages; Simple Enqueue; Delayed Delivery; Custom Retry Schedule;
        Keys If Undelivered; Consuming Messages; SSE Streaming (Recommended); Polling;
        Acknowledgment and Rejection; Acknowledge (ack); Reject (nack); Message Locking;
        Queue Statistics; Dead Letter Queue (DLQ); List DLQ Messages; Get Specific DLQ Message;
        Requeue DLQ Message; Delete DLQ Message; Purge All DLQ Messages; Queue Cleanup;
        Message Lifecycle; Common Patterns; Worker Queue; Scheduled Tasks; Failure Tracking;
        Next Steps""",
    "c: Queue API Specification": """
        Introduction; Core Concepts; Core Types; Job; JobStatus; JobStats; Tag Matching;
        Interface Definition; Behavioral Contracts; Job Submission; EnqueueJob; EnqueueJobs;
        Job Streaming; StreamJobs; Job Lifecycle; CompleteJob; FailJob; StopJob; StopJobWithRetry;
        MarkJobUnknownStopped; Cancellation; CancelJobs; AcknowledgeCancellation;
        Worker Management; MarkWorkerUnresponsive; Query Operations; GetJob; GetJobStats;
        Maintenance; CleanupExpiredJobs; ResetRunningJobs; DeleteJobs; Resource Management; Close;
        Behavioral Invariants; Observable State Changes; Error Conditions; Integration Patterns;
        StreamJobs Usage; Worker Pattern; Capacity Management; Error Handling""",
    "d: FIFO Mode for Subscriptions": """
        Executive Summary; Problem Statement; Customer Use Cases; Current Architecture Analysis;
        Event Flow; Key Components; Proposed Solution; 1. Database Schema Changes;
        Add FIFO field to subscription table; Add tracking for in-flight FIFO requests;
        2. API Changes; Update Subscription Creation/Update Endpoints; Database Operations Updates;
        3. Event Dispatch Logic; 4. Worker Changes; PG Worker; Pulsar Worker;
        5. Configuration & Validation; Retry Policy Considerations; Validation Rules;
        6. Observability & Monitoring; New Metrics; Logging; Database Queries for Monitoring;
        Implementation Plan; Phase 1: Database & API Foundation; Phase 2: PG Worker Implementation;
        Phase 3: Pulsar Worker Implementation; Phase 4: Observability;
        Phase 5: Testing & Documentation; Phase 6: Deployment & Monitoring;
        Performance Considerations; Impact on Non-FIFO Subscriptions; FIFO Subscription Throughput;
        Database Load; Edge Cases & Error Handling; Worker Crashes; Subscription Disable/Delete;
        Changing FIFO Mode; Multiple Events, Same Timestamp; Future Enhancements;
        API Documentation Example; Testing Strategy;
        Unit Tests; Integration Tests; Load Tests; Open Questions; Success Metrics; References""",
    "e: PostgreSQL Job Queue": """
        When to Use; Schema Design; Batch Claiming with SKIP LOCKED; Go Implementation;
        Stale Job Recovery; Decision Tree; Related Skills; NEVER Do""",
}
# The methods and guarantees that must have a test, whatever a note says.
MUST_BE_TESTED = (
    "EnqueueJob; EnqueueJobs; CompleteJob; FailJob; StopJob; StopJobWithRetry;"
    "MarkJobUnknownStopped; CancelJobs; AcknowledgeCancellation; MarkWorkerUnresponsive; GetJob;"
    "GetJobStats; CleanupExpiredJobs; ResetRunningJobs; DeleteJobs; Problem; New Queue Policy;"
    "Dead Letter Queue (DLQ); Message Locking; Queue Statistics; Worker Crashes;"
    "Changing FIFO Mode; Integration Tests; Stale Job Recovery; Batch Claiming with SKIP LOCKED"
)


@dataclass(frozen=True)
class Row:
    section: str
    sentence: str
    call: str
    test: str
    note: str


def parts() -> dict[str, str]:
    """What stands under each title."""
    _, *found = re.split(r"^## (.*)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:-1].split("|")]


def rows(text: str) -> list[Row]:
    header, rule, *lines = [line for line in text.splitlines() if line.startswith("|")]
    assert cells(header) == HEADER
    assert set(rule) == {"|", "-"}
    return [Row(*cells(line)) for line in lines]


def all_rows() -> list[Row]:
    return [row for text in parts().values() for row in rows(text)]


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(";")]


def quoted(test: str) -> list[tuple[str, list[str]]]:
    """The files that a cell names, each with what it quotes from it."""
    found = []
    for entry in filter(None, test.split("<br>")):
        match = re.fullmatch(r'`([^`]+)`(?: "(.*)")?', entry)
        assert match, entry
        found.append((match[1], match[2].split('", "') if match[2] else []))
    return found


def what_is_wrong(row: Row) -> list[str]:
    wrong = []
    for path, quotes in quoted(row.test):
        file = ROOT / path
        if not (file.is_file() and path.startswith(("pgtap/", "python/tests/"))):
            wrong.append(f"{path} is no test")
            continue
        text = file.read_text("utf-8")
        wrong += [f"{path} has no {quote!r}" for quote in quotes if quote not in text]
    if not row.test and not row.note.startswith("**no code**"):
        wrong.append("no test, and no note that says why")
    return wrong


def test_every_row_names_tests_that_are_there() -> None:
    assert [
        (row.section, row.sentence, wrong) for row in all_rows() if (wrong := what_is_wrong(row))
    ] == []


@pytest.mark.parametrize("title", SECTIONS)
def test_every_section_is_mentioned(title: str) -> None:
    text = " ".join(parts()[title].split())
    assert [name for name in names(SECTIONS[title]) if name not in text] == []


@pytest.mark.parametrize("section", names(MUST_BE_TESTED))
def test_what_is_promised_has_a_test(section: str) -> None:
    mine = [row for row in all_rows() if row.section == section]
    assert mine
    assert [row for row in mine if row.test] != []


def test_every_call_is_a_function() -> None:
    functions = {path.stem for path in (ROOT / "functions").glob("*/*.sql")}
    called = {name for row in all_rows() for name in re.findall(r"`(\w+)`", row.call)}
    assert called
    assert called - functions == set()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (Row("s", "x", "", "`pgtap/nowhere.pg`", ""), "is no test"),
        (Row("s", "x", "", "`README.md`", ""), "is no test"),
        (Row("s", "x", "", '`pgtap/scenarios/spec_a.pg` "no such name"', ""), "has no"),
        (Row("s", "x", "", "", "later"), "no test"),
    ],
)
def test_it_notices(row: Row, says: str) -> None:
    [wrong] = what_is_wrong(row)
    assert says in wrong
