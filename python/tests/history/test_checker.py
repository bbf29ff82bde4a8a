"""The rules of the checker: each rejects a bad history made by hand and accepts a good one."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import checker
import pytest
from checker import NARROWED_PROCESSES, Call, History, Job, broken_rules

LEASE = 60.0


class Story:
    """Builds a history: every call takes a second and is made a second after the last answer."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.jobs: list[Job] = []
        self.now = 0.0
        self._attempts: dict[int, int] = {}
        self._tokens = count(1)

    def call(self, name: str, process: str = "ann", **rest: Any) -> Call:
        self.calls.append(Call(process, name, self.now, self.now + 1, **rest))
        self.now += 2
        return self.calls[-1]

    def enqueue(
        self, *jobs: int, queue: str = "block", key: str = "k", tx: str | None = None
    ) -> None:
        rows = [(f"uid {job}", key) for job in jobs]
        self.call("enqueue_batch", "producer", args={"queue": queue, "jobs": rows}, tx=tx)
        self.jobs += [Job(job, queue, key, f"uid {job}", "completed", 1) for job in jobs]

    def claim(self, *jobs: int, queue: str = "block", key: str = "k", process: str = "ann") -> int:
        token = next(self._tokens)
        rows = []
        for job in jobs:
            self._attempts[job] = self._attempts.get(job, 0) + 1
            rows.append([job, queue, key, self._attempts[job], token, self.now + LEASE])
        args = {"queues": [queue], "size": 10}
        self.call("claim_job_batch", process, args=args, result=rows)
        return token

    def complete(self, job: int, token: int | None, process: str = "ann", **rest: Any) -> Call:
        return self.call("complete_job", process, args={"job": job, "token": token}, **rest)

    def becomes(self, job: int, **changes: Any) -> None:
        self.jobs = [replace(j, **changes) if j.id == job else j for j in self.jobs]

    def unanswered(self) -> None:
        self.calls[-1] = replace(self.calls[-1], end=None, result=None)

    def broken(self) -> set[str]:
        return set(broken_rules(History(self.calls, self.jobs)))


@pytest.fixture
def story() -> Story:
    return Story()


def test_jobs_of_a_key_one_after_the_other(story: Story) -> None:
    story.enqueue(1, 2)
    story.complete(1, story.claim(1))
    story.complete(2, story.claim(2))
    assert story.broken() == set()


def test_one_holder(story: Story) -> None:
    story.enqueue(1)
    first, second = story.claim(1), story.claim(1, process="bob")
    story.complete(1, second, "bob")
    assert story.broken() == {"one_holder"}
    assert first != second


def test_one_holder_of_a_key(story: Story) -> None:
    story.enqueue(1, 2, queue="singleton")
    first = story.claim(1, queue="singleton")
    second = story.claim(2, queue="singleton", process="bob")
    story.complete(1, first)
    story.complete(2, second, "bob")
    assert story.broken() == {"one_holder"}


def test_jobs_without_order_run_side_by_side(story: Story) -> None:
    story.enqueue(1, 2, queue="standard")
    first = story.claim(1, queue="standard")
    second = story.claim(2, queue="standard", process="bob")
    story.complete(2, second, "bob")
    story.complete(1, first)
    assert story.broken() == set()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("mark_worker_unresponsive", id="worker"),
        pytest.param("reset_fifo_key", id="key"),
        pytest.param("reset_running_jobs", id="all"),
    ],
)
def test_who_was_robbed_holds_nothing(story: Story, name: str) -> None:
    story.enqueue(1)
    story.claim(1)
    story.call(name, "operator", args={"worker": "ann", "queue": "block", "key": "k"})
    story.complete(1, story.claim(1, process="bob"), "bob")
    assert story.broken() == set()


def test_a_lease_that_ended_holds_nothing(story: Story) -> None:
    story.enqueue(1)
    story.claim(1)
    story.now += LEASE
    story.complete(1, story.claim(1, process="bob"), "bob")
    assert story.broken() == set()


def test_a_lease_that_was_extended_holds(story: Story) -> None:
    story.enqueue(1)
    token = story.claim(1)
    story.call(
        "extend_leases", args={"jobs": [1], "token": token, "lease": 2 * LEASE}, result=[[1, "ok"]]
    )
    story.now += LEASE
    story.complete(1, story.claim(1, process="bob"), "bob")
    assert story.broken() == {"one_holder"}


def test_an_unanswered_completion_may_have_let_go(story: Story) -> None:
    story.enqueue(1, 2)
    story.complete(1, story.claim(1))
    story.unanswered()
    story.complete(2, story.claim(2, process="bob"), "bob")
    assert story.broken() == set()


def test_a_refused_completion_lets_nothing_go(story: Story) -> None:
    story.enqueue(1)
    token = story.claim(1)
    story.call("complete_jobs", args={"jobs": [1], "token": token}, result=[[1, "lease_lost"]])
    story.complete(1, story.claim(1, process="bob"), "bob")
    assert story.broken() == {"one_holder"}


def test_one_of_a_key_in_a_claim(story: Story) -> None:
    story.enqueue(1, 2, queue="singleton")
    token = story.claim(1, 2, queue="singleton")
    story.complete(1, token)
    story.complete(2, token)
    assert story.broken() == {"one_of_a_key_in_a_claim"}


def test_no_more_than_max_running(story: Story) -> None:
    story.enqueue(*range(1, 8), queue="gate")
    tokens = {story.claim(1, 2, 3, queue="gate"): (1, 2, 3)}
    tokens[story.claim(4, 5, 6, queue="gate", process="bob")] = (4, 5, 6)
    for job in (1, 2):
        story.complete(job, 1)
    tokens[story.claim(7, queue="gate")] = (7,)
    for job, token in ((3, 1), (4, 2), (5, 2), (6, 2), (7, 3)):
        story.complete(job, token, "bob" if token == 2 else "ann")
    assert story.broken() == set()


def test_more_than_max_running(story: Story) -> None:
    story.enqueue(*range(1, 8), queue="gate")
    story.claim(1, 2, 3, queue="gate")
    story.claim(4, 5, 6, 7, queue="gate", process="bob")
    for job in range(1, 8):
        story.complete(job, 1 if job < 4 else 2, "ann" if job < 4 else "bob")
    assert story.broken() == {"within_limits"}


def test_more_of_a_key_than_its_limit(story: Story) -> None:
    story.enqueue(1, 2, 3, queue="shared")
    for process, job in (("ann", 1), ("bob", 2), ("cat", 3)):
        story.claim(job, queue="shared", process=process)
    story.complete(1, 1)
    story.complete(2, 2, "bob")
    story.complete(3, 3, "cat")
    assert story.broken() == {"within_limits"}


@pytest.mark.parametrize(("seconds", "broken"), [(0.0, {"within_limits"}), (2.0, set())])
def test_more_starts_than_the_rate(story: Story, seconds: float, broken: set[str]) -> None:
    """Claims of a hundredth of a second, six jobs each, which are completed at once."""
    for turn in range(7):
        jobs = range(6 * turn + 1, 6 * turn + 7)
        story.enqueue(*jobs, queue="gate")
        now = seconds + 10 if turn == 6 else 10 + turn / 10
        token = story.claim(*jobs, queue="gate")
        claim = story.calls[-1]
        story.calls[-1] = replace(claim, begin=now, end=now + 0.01)
        done = [[job, "ok"] for job in jobs]
        story.call("complete_jobs", args={"jobs": list(jobs), "token": token}, result=done)
        story.calls[-1] = replace(story.calls[-1], begin=now + 0.02, end=now + 0.03)
        story.calls = [
            replace(c, begin=0.0, end=0.1) if c.name == "enqueue_batch" else c for c in story.calls
        ]
    assert story.broken() == broken


def test_order_per_key(story: Story) -> None:
    story.enqueue(1)
    story.enqueue(2)
    story.complete(2, story.claim(2))
    story.complete(1, story.claim(1))
    assert story.broken() == {"order_per_key"}


def test_order_within_a_transaction(story: Story) -> None:
    story.enqueue(1, tx="t")
    story.enqueue(2, tx="t")
    story.call("commit", "producer", tx="t")
    story.complete(2, story.claim(2))
    story.complete(1, story.claim(1))
    assert story.broken() == {"order_per_key"}


def test_order_is_that_of_commits(story: Story) -> None:
    story.enqueue(1, tx="t")
    story.enqueue(2, tx="u")
    story.call("commit", "producer", tx="u")
    story.call("commit", "producer", tx="t")
    story.complete(2, story.claim(2))
    story.complete(1, story.claim(1))
    assert story.broken() == set()


def test_a_failed_job_holds_its_key(story: Story) -> None:
    story.enqueue(1, 2)
    token = story.claim(1)
    story.call("fail_job", args={"job": 1, "token": token}, result="failed")
    story.becomes(1, state="failed")
    story.complete(2, story.claim(2))
    assert story.broken() == {"order_per_key"}


def test_a_failed_job_that_was_skipped_does_not(story: Story) -> None:
    story.enqueue(1, 2)
    token = story.claim(1)
    story.call("fail_job", args={"job": 1, "token": token}, result="failed")
    story.call("skip_job", "operator", args={"job": 1})
    story.complete(2, story.claim(2))
    assert story.broken() == set()


def test_order_where_a_failed_job_lets_go(story: Story) -> None:
    story.enqueue(1, 2, queue="continue")
    token = story.claim(1, queue="continue")
    story.call("fail_job", args={"job": 1, "token": token}, result="failed")
    story.becomes(1, state="failed")
    story.complete(2, story.claim(2, queue="continue"))
    assert story.broken() == set()


def test_order_of_first_claims_where_a_failed_job_lets_go(story: Story) -> None:
    story.enqueue(1, 2, queue="continue")
    story.complete(2, story.claim(2, queue="continue"))
    story.complete(1, story.claim(1, queue="continue"))
    assert story.broken() == {"order_per_key"}


def in_a_flow(story: Story, child: int, *parents: int) -> None:
    story.call(
        "enqueue_jobs",
        "producer",
        args={
            "queue": "standard",
            "jobs": [(f"uid {child}", None)],
            "after": {f"uid {child}": [f"uid {parent}" for parent in parents]},
        },
    )
    story.jobs.append(Job(child, "standard", None, f"uid {child}", "completed", 1))


def test_parents_first(story: Story) -> None:
    story.enqueue(1, 2, queue="standard")
    in_a_flow(story, 3, 1, 2)
    story.complete(1, story.claim(1, queue="standard"))
    story.complete(3, story.claim(3, queue="standard"))
    story.complete(2, story.claim(2, queue="standard"))
    assert story.broken() == {"parents_first"}


@pytest.mark.parametrize("is_retried", [True, False])
def test_a_parent_that_is_retried(story: Story, is_retried: bool) -> None:
    """It had failed for good, and let its child go; without the retry it was held all the time."""
    story.enqueue(1, queue="standard")
    in_a_flow(story, 2, 1)
    token = story.claim(1, queue="standard")
    if is_retried:
        story.call("fail_job", args={"job": 1, "token": token}, result="failed")
        story.call("retry_job", "operator", args={"job": 1}, result=[[""]])
        token = story.claim(1, queue="standard")
    story.complete(2, story.claim(2, queue="standard"))
    story.complete(1, token)
    assert story.broken() == (set() if is_retried else {"parents_first"})


def test_parents_that_have_ended_one_way_or_another(story: Story) -> None:
    story.enqueue(1, 2, 3, queue="standard")
    in_a_flow(story, 4, 1, 2, 3)
    story.complete(1, story.claim(1, queue="standard"))
    token = story.claim(2, queue="standard")
    story.call("fail_job", args={"job": 2, "token": token}, result="failed")
    story.becomes(2, state="failed")
    story.call("cancel_jobs", "operator", args={"jobs": [3]}, result=[3])
    story.complete(4, story.claim(4, queue="standard"))
    assert story.broken() == set()


def test_no_job_lost(story: Story) -> None:
    story.enqueue(1)
    story.jobs.clear()
    assert story.broken() == {"no_job_lost"}


def test_what_may_not_have_been_committed_may_be_missing(story: Story) -> None:
    story.enqueue(1, 2)
    story.unanswered()
    story.jobs.clear()
    assert story.broken() == set()


def test_a_commit_is_whole(story: Story) -> None:
    story.enqueue(1, 2, queue="standard")
    story.unanswered()
    story.jobs.pop()
    assert story.broken() == {"no_job_lost"}


@pytest.mark.parametrize("how", ["rollback", None])
def test_a_rollback_leaves_nothing(story: Story, how: str | None) -> None:
    story.enqueue(1, tx="t")
    if how:
        story.call(how, "producer", tx="t")
    assert story.broken() == {"no_job_lost"}


def test_a_retried_enqueue_is_there_once(story: Story) -> None:
    story.enqueue(1)
    story.unanswered()
    story.enqueue(1)
    assert story.broken() == {"no_job_lost"}
    story.jobs.pop()
    assert story.broken() == set()


def test_counts_balance(story: Story) -> None:
    story.enqueue(1, 2)
    story.becomes(1, places=0)
    story.becomes(2, places=2)
    assert story.broken() == {"counts_balance"}
    story.becomes(1, places=1)
    story.becomes(2, places=1)
    assert story.broken() == set()


def test_a_job_from_nowhere(story: Story) -> None:
    story.jobs.append(Job(1, "standard", None, "uid 1", "completed", 1))
    assert story.broken() == {"counts_balance"}


def test_ends_once(story: Story) -> None:
    story.enqueue(1)
    token = story.claim(1)
    story.complete(1, token)
    story.complete(1, token)
    assert story.broken() == {"ends_once"}


def test_skipped_and_completed(story: Story) -> None:
    story.enqueue(1, queue="standard")
    token = story.claim(1, queue="standard")
    story.call("skip_job", "operator", args={"job": 1})
    story.complete(1, token)
    assert story.broken() == {"ends_once"}


def test_a_late_completion_of_what_nobody_confirmed(story: Story) -> None:
    story.enqueue(1)
    token = story.claim(1)
    story.call("mark_job_unknown_stopped", "operator", args={"job": 1})
    story.complete(1, token)
    assert story.broken() == set()


def test_a_completion_that_was_rolled_back(story: Story) -> None:
    story.enqueue(1)
    token = story.claim(1)
    story.complete(1, token, tx="t")
    story.call("rollback", tx="t")
    story.complete(1, token)
    assert story.broken() == set()


def test_fenced(story: Story) -> None:
    story.enqueue(1)
    old = story.claim(1)
    story.now += LEASE
    story.claim(1, process="bob")
    story.complete(1, old)
    assert story.broken() == {"fenced"}


def test_a_refused_late_completion(story: Story) -> None:
    story.enqueue(1)
    old = story.claim(1)
    story.now += LEASE
    new = story.claim(1, process="bob")
    story.complete(1, old, error="PB004")
    story.complete(1, new, "bob")
    assert story.broken() == set()


def test_attempts_rise(story: Story) -> None:
    story.enqueue(1)
    story.claim(1)
    story.now += LEASE
    story._attempts.clear()
    story.complete(1, story.claim(1))
    assert story.broken() == {"attempts_rise"}


def test_a_job_given_back_keeps_its_attempt(story: Story) -> None:
    story.enqueue(1)
    token = story.claim(1)
    story.call("release_jobs", args={"jobs": [1], "token": token}, result=[[1, "ok"]])
    story._attempts.clear()
    story.complete(1, story.claim(1))
    assert story.broken() == set()


@pytest.mark.parametrize(
    ("is_hungry", "expected"),
    [
        pytest.param(True, {"nothing_stuck"}, id="claims come back short"),
        pytest.param(False, set(), id="workers are busy"),
    ],
)
def test_nothing_stuck(story: Story, is_hungry: bool, expected: set[str]) -> None:
    story.enqueue(1)
    for _ in range(5):
        story.call("probe", result=[["block", "k", 1, 0, "nobody holds the key"]])
        if is_hungry:
            story.claim()
    story.complete(1, story.claim(1))
    assert story.broken() == expected


def test_a_short_wait_is_no_hang(story: Story) -> None:
    story.enqueue(1)
    story.call("probe", result=[["block", "k", 1, 0, "nobody holds the key"]])
    story.claim()
    story.call("probe", result=[["block", "k", 1, 1, "ready"]])
    story.complete(1, story.claim(1))
    assert story.broken() == set()


def test_all_done(story: Story) -> None:
    story.enqueue(1, 2)
    story.becomes(1, state="failed")
    story.becomes(2, state="waiting")
    assert story.broken() == set()
    story.becomes(1, state="completed")
    assert story.broken() == {"all_done"}


def test_no_strange_error(story: Story) -> None:
    story.enqueue(1)
    story.complete(1, 1, error="PB004")
    assert story.broken() == set()
    story.complete(1, 1, error="23505")
    assert story.broken() == {"no_strange_error"}


def test_narrowed_stay_within(story: Story) -> None:
    narrowed = f"{NARROWED_PROCESSES[0]} life 1"
    story.enqueue(1)
    story.complete(1, story.claim(1, process=narrowed), narrowed)
    assert story.broken() == set()
    story.enqueue(2, queue="singleton")
    story.complete(2, story.claim(2, queue="singleton", process=narrowed), narrowed)
    assert story.broken() == {"narrowed_stay_within"}


def test_a_queue_that_comes_and_goes(story: Story) -> None:
    story.call("enqueue_job", args={"queue": "temp", "jobs": [("gone", "k")]})
    story.call("drop_queue", args={"queue": "temp"}, error="PB008")
    assert story.broken() == set()
    story.call("drop_queue", args={"queue": "block"}, error="PB008")
    assert story.broken() == {"no_strange_error"}


def test_every_rule_has_a_bad_history() -> None:
    mine = Path(__file__).read_text()
    assert [name for name in checker.RULES if f'{{"{name}"}}' not in mine] == []


def test_a_call_without_a_second_line_was_not_answered(tmp_path: Path) -> None:
    lines = [
        {"n": 0, "process": "ann", "name": "one", "args": {}, "tx": None, "begin": 1.0},
        {"n": 0, "end": 2.0, "result": [[1]], "error": None},
        {"n": 1, "process": "ann", "name": "two", "args": {}, "tx": "t", "begin": 3.0},
    ]
    file = tmp_path / "ann.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    one, two = checker.read_calls([file])
    assert (one.end, one.result, two.end, two.tx) == (2.0, [[1]], None, "t")
