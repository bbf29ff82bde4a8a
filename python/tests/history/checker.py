"""Rules that a recorded history must keep. Pure functions: calls in, broken rules out.

A history is a list of calls, each with the instants at which it was made and answered, and the
state of all jobs at the end. What a call did happened at some instant between the two. A call
without an answer (its process or its server was killed) may have happened or not. So a rule speaks
only where every possible order of the instants breaks it: what it reports is certain, and some
faults that were lucky go unseen.

All instants are seconds of the clock of the one machine that runs clients and server.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, count, pairwise
from math import inf
from pathlib import Path
from typing import Any

STUCK_SECONDS = 5.0
LIVE_AND_OPEN = ("waiting", "pending", "active", "retry", "unknown_retry", "cancelling")

# SQLSTATEs that a correct queue may answer with: refusals of its own, a lock or statement timeout,
# a transaction to be repeated.
EXPECTED_ERRORS = ("PB002", "PB003", "PB004", "PB006", "40001", "55P03", "57014")


@dataclass(frozen=True, eq=False)
class Call:
    """One call of one process: `end` is None when no answer came, `error` an SQLSTATE."""

    process: str
    name: str
    begin: float
    end: float | None = None
    args: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    error: str | None = None
    tx: str | None = None


@dataclass(frozen=True)
class Job:
    """A job as it stands in the database at the end.

    `places` is how many rows stand for it, `why` what why_not_running says of one that is open.
    """

    id: int
    queue: str
    key: str | None
    uid: str
    state: str
    attempt: int
    places: int = 1
    why: str | None = None


@dataclass(frozen=True)
class Claim:
    """One job in the answer of one claim."""

    call: Call
    job: int
    queue: str
    key: str | None
    attempt: int
    token: int
    lease_until: float

    @property
    def begin(self) -> float:
        return self.call.begin

    @property
    def end(self) -> float:
        assert self.call.end is not None
        return self.call.end


@dataclass(frozen=True)
class Enqueued:
    """One job that a producer handed in: `order` counts within its transaction."""

    uid: str
    queue: str
    key: str | None
    certain: bool  # it was committed, for sure
    possible: bool  # it may have been committed
    commit_begin: float
    commit_end: float
    tx: str
    order: int
    after: tuple[str, ...] = ()  # uids of the jobs that it waits for


@dataclass(frozen=True)
class Policies:
    """Which queues promise what about the jobs of one key."""

    block: tuple[str, ...] = ("block",)  # in order, a failed job holds its key
    goes_on: tuple[str, ...] = ("continue",)  # in order, a failed job lets its key go on
    one_at_a_time: tuple[str, ...] = ("block", "continue", "singleton")
    most_running: tuple[tuple[str, int], ...] = (("gate", 6),)  # jobs of a queue at once
    most_of_a_key: tuple[tuple[str, int], ...] = (("shared", 2),)
    most_started: tuple[tuple[str, int, float], ...] = (("gate", 40, 1.0),)  # in so many seconds
    most_started_of_a_key: tuple[tuple[str, int, float], ...] = (("shared", 5, 0.5),)
    comes_and_goes: tuple[str, ...] = ("temp",)  # is dropped with its jobs, put in order and out
    narrowed: tuple[str, ...] = ("block", "standard")  # what NARROWED_PROCESSES may work on


# They connect as a role with grants.
NARROWED_PROCESSES = ("worker 3", "producer 2")


# How a call names the jobs that it may take from their lease or end.
BY_IDS = ("complete_jobs", "fail_jobs", "release_jobs")
BY_ID = (
    "complete_job",
    "fail_job",
    "stop_job",
    "stop_job_with_retry",
    "acknowledge_cancellation",
    "mark_job_unknown_stopped",
    "skip_job",
    "delete_job",
    "retry_job",
)
ENDS = (
    "complete_jobs",
    "complete_job",
    "stop_job",
    "stop_job_with_retry",
    "acknowledge_cancellation",
    "mark_job_unknown_stopped",
    "skip_job",
    "delete_job",
    "cancel_jobs",
)
COMPLETES = ("complete_jobs", "complete_job")
LONGEST_CALL = 60.0  # seconds; the statement timeout of the workload is below it
LETS_GO = (
    "complete_claim",
    "complete_jobs",
    "complete_job",
    "fail_jobs",
    "fail_job",
    "release_jobs",
    "stop_job",
    "stop_job_with_retry",
    "acknowledge_cancellation",
    "mark_job_unknown_stopped",
)
# Calls that take jobs from their workers without naming them.
TAKES_AWAY = ("mark_worker_unresponsive", "reset_fifo_key", "reset_running_jobs")


class History:
    """Calls and the final state, with the look-ups that several rules need."""

    def __init__(
        self, calls: Iterable[Call], jobs: Iterable[Job] = (), policies: Policies | None = None
    ) -> None:
        self.calls = sorted(calls, key=lambda c: c.begin)
        self.jobs = list(jobs)
        self.policies = policies or Policies()

    def named(self, *names: str) -> Iterator[Call]:
        return (c for c in self.calls if c.name in names)

    @cached_property
    def commits(self) -> dict[str, Call]:
        return {c.tx: c for c in self.named("commit") if c.tx}

    def is_void(self, call: Call) -> bool:
        """Whether the call certainly had no effect."""
        if call.error:
            return True
        if call.tx is None:
            return False
        commit = self.commits.get(call.tx)
        return commit is None or commit.error is not None

    def is_certain(self, call: Call) -> bool:
        """Whether the call certainly had the effect that its answer tells."""
        if call.error or call.end is None:
            return False
        if call.tx is None:
            return True
        commit = self.commits.get(call.tx)
        return commit is not None and commit.end is not None and commit.error is None

    @cached_property
    def claims(self) -> list[Claim]:
        return [
            Claim(call, *row[:6])
            for call in self.named("claim_job_batch")
            if self.is_certain(call)
            for row in call.result
        ]

    @cached_property
    def claims_of_job(self) -> dict[int, list[Claim]]:
        return grouped(self.claims, lambda c: c.job)

    @cached_property
    def jobs_of_token(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for claim in self.claims:
            found[claim.token].append(claim.job)
        return found

    @cached_property
    def calls_of_job(self) -> dict[int, list[Call]]:
        """Calls that may have touched a job, void ones and refused verdicts left out."""
        found: dict[int, list[Call]] = defaultdict(list)
        for call in self.calls:
            if not self.is_void(call):
                for job in self._touched(call):
                    found[job].append(call)
        return found

    def _touched(self, call: Call) -> Iterable[int]:
        if call.name in BY_ID:
            return [call.args["job"]]
        if call.name in BY_IDS:
            if call.end is None:
                return call.args["jobs"]
            return [job for job, verdict in call.result if verdict == "ok"]
        if call.name == "cancel_jobs":
            return call.args["jobs"] if call.end is None else call.result
        if call.name == "complete_claim":
            return self.jobs_of_token[call.args["token"]]
        return []

    @cached_property
    def extensions(self) -> dict[int, list[Call]]:
        return grouped(
            (c for c in self.named("extend_leases") if not self.is_void(c)),
            lambda c: c.args["token"],
        )

    @cached_property
    def takings(self) -> list[Call]:
        return [c for c in self.named(*TAKES_AWAY) if not self.is_void(c)]

    @cached_property
    def enqueued(self) -> list[Enqueued]:
        orders: dict[str, Iterator[int]] = defaultdict(count)
        found = []
        for call in self.named("enqueue_job", "enqueue_jobs", "enqueue_batch"):
            commit = self.commits.get(call.tx) if call.tx else call
            tx = call.tx or f"{call.process} {call.begin}"
            for uid, key in call.args["jobs"]:
                found.append(
                    Enqueued(
                        uid,
                        call.args["queue"],
                        key,
                        self.is_certain(call),
                        not self.is_void(call),
                        commit.begin if commit else inf,
                        commit.end if commit and commit.end is not None else inf,
                        tx,
                        next(orders[tx]),
                        tuple(call.args.get("after", {}).get(uid, ())),
                    )
                )
        return found


def grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return found


# One holder ---------------------------------------------------------------------------------------


def hold_of(history: History, claim: Claim) -> tuple[float, float]:
    """The stretch in which the claim certainly held its job; empty if the second is not larger."""
    until = claim.lease_until
    for call in history.extensions.get(claim.token, []):
        if claim.job in call.args["jobs"]:
            extended = call.begin + call.args["lease"]
            is_sure = history.is_certain(call) and [claim.job, "ok"] in call.result
            until = extended if is_sure and call.begin <= until else min(until, extended)
    for call in history.calls_of_job.get(claim.job, []):
        if call.name in LETS_GO and call.args.get("token") in (claim.token, None):
            until = min(until, let_go_at(call, claim))
    start = bisect_left(history.takings, claim.begin - LONGEST_CALL, key=lambda c: c.begin)
    for call in history.takings[start:]:
        if call.begin >= until:
            break
        if may_take(call, claim):
            until = min(until, let_go_at(call, claim))
    return claim.end, until


def let_go_at(call: Call, claim: Claim) -> float:
    """The first instant at which the call may have taken effect on this claim."""
    is_over = call.end is not None and call.end < claim.begin
    return inf if is_over else call.begin


def may_take(call: Call, claim: Claim) -> bool:
    if call.name == "mark_worker_unresponsive":
        return bool(call.args["worker"] == claim.call.process)
    if call.name == "reset_fifo_key":
        return (call.args["queue"], call.args["key"]) == (claim.queue, claim.key)
    return True


def one_holder(history: History) -> list[str]:
    """At no instant two claims hold the same job, or the same key."""
    keyed = [c for c in history.claims if c.queue in history.policies.one_at_a_time]
    holds = {c: hold_of(history, c) for c in history.claims}
    broken = []
    for of_one in (
        *grouped(history.claims, lambda c: c.job).values(),
        *grouped(keyed, lambda c: (c.queue, c.key)).values(),
    ):
        line = sorted((c for c in of_one if holds[c][0] < holds[c][1]), key=lambda c: holds[c][0])
        last: Claim | None = None
        for claim in line:
            if last and holds[claim][0] < holds[last][1] and claim.token != last.token:
                broken.append(
                    f"{claim.queue}/{claim.key}: job {claim.job} of claim {claim.token} was held"
                    f" from {holds[claim][0]:.6f}, while claim {last.token} held job {last.job}"
                    f" until {holds[last][1]:.6f}"
                )
            if last is None or holds[claim][1] > holds[last][1]:
                last = claim
    return broken


def one_of_a_key_in_a_claim(history: History) -> list[str]:
    """A claim never returns two jobs of one key."""
    policies = history.policies
    queues = {*policies.one_at_a_time, *(queue for queue, _ in policies.most_of_a_key)}
    keyed = [c for c in history.claims if c.queue in queues]
    return [
        f"claim {token} returned {len(found)} jobs of key {queue}/{key}"
        for (token, queue, key), found in grouped(
            keyed, lambda c: (c.token, c.queue, c.key)
        ).items()
        if len(found) > 1
    ]


def within_limits(history: History) -> list[str]:
    """At no instant more jobs of a queue or key are held than it allows, and no more start."""
    policies = history.policies
    of_queue = grouped(history.claims, lambda c: c.queue)
    of_key = grouped(history.claims, lambda c: (c.queue, c.key))
    lines = [(queue, most, of_queue[queue]) for queue, most in policies.most_running]
    for queue, most in policies.most_of_a_key:
        lines += [
            (f"{name}/{key}", most, held) for (name, key), held in of_key.items() if name == queue
        ]
    broken = []
    for name, most, claims in lines:
        held = most_at_once(history, claims)
        if held > most:
            broken.append(f"{name}: {held} jobs were held at once, and {most} may be")
    rates = [(queue, *rate, of_queue[queue]) for queue, *rate in policies.most_started]
    for queue, *rate in policies.most_started_of_a_key:
        rates += [
            (f"{name}/{key}", *rate, held) for (name, key), held in of_key.items() if name == queue
        ]
    for name, most, seconds, claims in rates:
        started = most_within(claims, seconds)
        if started > most:
            broken.append(f"{name}: {started} jobs started within {seconds} s, and {most} may")
    return broken


def most_at_once(history: History, claims: list[Claim]) -> int:
    """How many jobs were certainly held at one instant."""
    steps = []
    for claim in claims:
        first, last = hold_of(history, claim)
        if first < last:
            steps += [(first, 1), (last, -1)]
    # Who lets go at an instant does so before somebody begins.
    return max(accumulate(step for _, step in sorted(steps)), default=0)


def most_within(claims: list[Claim], seconds: float) -> int:
    """How many jobs were certainly claimed within one stretch of so many seconds."""
    by_end = sorted(claims, key=lambda c: c.end)
    ends = [c.end for c in by_end]
    found = 0
    for begin in {c.begin for c in claims}:
        until = bisect_right(ends, begin + seconds)
        after = bisect_left(ends, begin)
        found = max(found, sum(c.begin >= begin for c in by_end[after:until]))
    return found


# Order --------------------------------------------------------------------------------------------


def order_per_key(history: History) -> list[str]:
    """No job of a FIFO key is claimed while one that was committed before it is still to run."""
    ids = {j.uid: j.id for j in history.jobs}
    in_order = (*history.policies.block, *history.policies.goes_on)
    committed = [e for e in history.enqueued if e.certain and e.uid in ids and e.queue in in_order]
    broken = []
    for (queue, key), line in grouped(committed, lambda e: (e.queue, e.key)).items():
        stays = may_end_at if queue in history.policies.block else runs_first_at
        open_until = {e: stays(history, ids[e.uid]) for e in line}
        for later, earlier in latest_before(line, open_until):
            claimed = min(
                (c.end for c in history.claims_of_job.get(ids[later.uid], [])), default=inf
            )
            if open_until[earlier] > claimed:
                broken.append(
                    f"{queue}/{key}: job {ids[later.uid]} had been claimed by {claimed:.6f}, though"
                    f" job {ids[earlier.uid]} was committed before it and still to run"
                )
    return broken


def latest_before(
    line: list[Enqueued], open_until: dict[Enqueued, float]
) -> Iterator[tuple[Enqueued, Enqueued]]:
    """Each job of a key with that one of those certainly before it that is open the longest."""
    by_commit = sorted(line, key=lambda e: e.commit_end)
    longest = list(accumulate(by_commit, lambda a, b: max(a, b, key=lambda e: open_until[e])))
    of_tx = grouped(line, lambda e: e.tx)
    for later in line:
        before = [e for e in of_tx[later.tx] if e.order < later.order]
        committed = bisect_left(by_commit, later.commit_begin, key=lambda e: e.commit_end)
        if committed:
            before.append(longest[committed - 1])
        if before:
            yield later, max(before, key=lambda e: open_until[e])


def may_end_at(history: History, job: int) -> float:
    """The first instant at which something may have ended the job or made it give up its key."""
    ends = [
        c.begin for c in history.calls_of_job.get(job, []) if c.name in (*ENDS, "complete_claim")
    ]
    claims = history.claims_of_job.get(job, [])
    resets = [
        c.begin
        for c in history.takings
        if c.name == "reset_fifo_key" and any(may_take(c, claim) for claim in claims)
    ]
    return min(ends + resets, default=inf)


def runs_first_at(history: History, job: int) -> float:
    """When the job was claimed for the first time; at once if that cannot be told."""
    claims = history.claims_of_job.get(job, [])
    if claims:
        first = min(claims, key=lambda c: c.begin)
        return first.begin if first.attempt == 1 else -inf
    is_untouched = job not in history.calls_of_job and any(
        j.id == job and j.attempt == 0 and j.state in ("waiting", "pending") for j in history.jobs
    )
    return inf if is_untouched else -inf


def parents_first(history: History) -> list[str]:
    """No job is claimed before those were ever run for which it waits, or while one is held.

    One that an operator retried had failed for good before, and its children may run from then on.
    """
    ids = {j.uid: j.id for j in history.jobs}
    failed = {j.id for j in history.jobs if j.state == "failed"}
    broken = []
    for child in history.enqueued:
        claims = history.claims_of_job.get(ids.get(child.uid, 0), [])
        for parent in (ids[uid] for uid in child.after if claims and uid in ids):
            claim = min(claims, key=lambda c: c.end)
            runs = history.claims_of_job.get(parent, [])
            is_untouched = not any(
                c.begin < claim.end for c in (*runs, *history.calls_of_job.get(parent, []))
            )
            if is_untouched and parent not in failed:
                broken.append(f"job {claim.job} was claimed before job {parent} was ever run")
            for run in runs:
                first, last = hold_of(history, run)
                is_held = first <= claim.begin and claim.end <= last
                if is_held and not is_of_a_retry(history, run):
                    broken.append(f"job {claim.job} was claimed while job {parent} was held")
    return broken


def is_of_a_retry(history: History, run: Claim) -> bool:
    """Whether an operator may have retried the job before it was claimed so."""
    return any(
        c.name == "retry_job" and c.begin < run.end for c in history.calls_of_job.get(run.job, [])
    )


# Nothing lost, nothing twice ----------------------------------------------------------------------


def no_job_lost(history: History) -> list[str]:
    """What was committed is there, once; what was rolled back is not; a commit is whole."""
    places: dict[str, int] = defaultdict(int)
    for job in history.jobs:
        places[job.uid] += 1
    attempts = grouped(history.enqueued, lambda e: e.uid)
    broken = []
    for uid, tries in attempts.items():
        goes = tries[0].queue in history.policies.comes_and_goes
        if any(e.certain for e in tries) and places[uid] != 1 and not (goes and not places[uid]):
            broken.append(f"job {uid} was committed and is there {places[uid]} times")
        elif places[uid] and not any(e.possible for e in tries):
            broken.append(f"job {uid} is there though its transaction was rolled back")
        elif places[uid] > 1:
            broken.append(f"job {uid} was enqueued once and is there {places[uid]} times")
    for tx, of_tx in grouped(history.enqueued, lambda e: e.tx).items():
        found = {places[e.uid] > 0 for e in of_tx if len(attempts[e.uid]) == 1}
        if len(found) > 1 and of_tx[0].queue not in history.policies.comes_and_goes:
            broken.append(f"transaction {tx} was committed in part")
    return broken


def counts_balance(history: History) -> list[str]:
    """Each job that is there was enqueued, lives in one place, and nothing else is there."""
    known = {e.uid for e in history.enqueued}
    return [
        f"job {job.id} ({job.uid}) stands in {job.places} places"
        for job in history.jobs
        if job.places != 1
    ] + [
        f"job {job.id} ({job.uid}) was enqueued by nobody"
        for job in history.jobs
        if job.uid not in known
    ]


def ends_once(history: History) -> list[str]:
    """A job is completed, or ended in another way, by one accepted call."""
    broken = []
    for job, calls in history.calls_of_job.items():
        ended = [c for c in calls if c.name in ENDS and history.is_certain(c) and is_end(c)]
        completed = [c for c in ended if c.name in COMPLETES]
        # What nobody confirmed (unknown_stopped) may still be completed.
        if len(completed) > 1 or len([c for c in ended if not is_doubtful(c)]) > 1:
            broken.append(f"job {job} was ended by {[(c.process, c.name, c.args) for c in ended]}")
    return broken


def is_end(call: Call) -> bool:
    return call.name != "cancel_jobs"  # of a running job it is a request only


def is_doubtful(call: Call) -> bool:
    return call.name == "mark_job_unknown_stopped" or (
        call.name == "acknowledge_cancellation" and not call.args["was_executing"]
    )


def fenced(history: History) -> list[str]:
    """Nothing is accepted under a token when a later claim of the job was answered before."""
    broken = []
    for job, calls in history.calls_of_job.items():
        claims = history.claims_of_job.get(job, [])
        for call in calls:
            token = call.args.get("token")
            if token is None or call.name not in LETS_GO or not history.is_certain(call):
                continue
            if call.name == "complete_claim":
                continue  # its answer does not say which jobs
            ours = [c for c in claims if c.token == token]
            for later in claims:
                if ours and later.begin > ours[0].end and later.end < call.begin:
                    broken.append(
                        f"job {job}: {call.name} of {call.process} was accepted under token {token}"
                        f" after claim {later.token}"
                    )
    return broken


def attempts_rise(history: History) -> list[str]:
    """Each claim of a job counts as an attempt, unless the job was given back in between."""
    broken = []
    for job, claims in history.claims_of_job.items():
        given_back = [c for c in history.calls_of_job.get(job, []) if c.name == "release_jobs"]
        for first, second in pairwise(sorted(claims, key=lambda c: c.begin)):
            if first.end < second.begin and second.attempt <= first.attempt and not given_back:
                broken.append(f"job {job} was claimed twice as attempt {second.attempt}")
    return broken


# Nothing stuck ------------------------------------------------------------------------------------


def nothing_stuck(history: History) -> list[str]:
    """No job waits longer than 5 s while claims of its queue come back short of what they asked."""
    hungry: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for call in history.named("claim_job_batch"):
        if history.is_certain(call) and len(call.result) < call.args["size"]:
            for queue in call.args["queues"]:
                hungry[queue].append((call.begin, call.end or inf))
    since: dict[tuple[Any, ...], float] = {}
    broken: dict[tuple[Any, ...], str] = {}
    for probe in history.named("probe"):
        if probe.end is None or probe.error:
            continue
        now = {tuple(row) for row in probe.result}
        since = {what: since.get(what, probe.end) for what in now}
        for what, first in since.items():
            claims = hungry[what[0]]
            place = bisect_left(claims, (first + STUCK_SECONDS, 0.0))
            if place < len(claims) and claims[place][1] < probe.begin:
                seconds = probe.end - first
                broken[what] = f"{what} for {seconds:.1f} s, while claims came back short"
    return list(broken.values())


def all_done(history: History) -> list[str]:
    """At the end what is open stands behind a failed job of its key."""
    held = {(j.queue, j.key) for j in history.jobs if j.state == "failed"}
    return [
        f"job {j.id} ({j.queue}/{j.key}) is {j.state} at the end: {j.why}"
        for j in history.jobs
        if j.state in LIVE_AND_OPEN
        and j.queue not in history.policies.comes_and_goes
        and not (
            j.state == "waiting" and j.queue in history.policies.block and (j.queue, j.key) in held
        )
    ]


def no_strange_error(history: History) -> list[str]:
    """No call fails but in the ways that the contract names."""
    return [
        f"{c.name} of {c.process} at {c.begin:.6f} failed with {c.error}: {c.result}"
        for c in history.calls
        if c.error and c.error not in EXPECTED_ERRORS and not is_refusal_of_a_queue(history, c)
    ]


def is_refusal_of_a_queue(history: History, call: Call) -> bool:
    """Of a queue that comes and goes, or to a role that may not use it."""
    queues = [call.args.get("queue"), *call.args.get("queues", [])]
    if call.error == "PB009":
        return call.process.startswith(NARROWED_PROCESSES) and any(
            queue not in history.policies.narrowed for queue in queues
        )
    return call.error in ("PB001", "PB005", "PB007", "PB008") and any(
        queue in history.policies.comes_and_goes for queue in queues
    )


def narrowed_stay_within(history: History) -> list[str]:
    """Who is narrowed to some queues gets no job of another one."""
    return [
        f"{c.call.process} got job {c.job} of queue {c.queue}"
        for c in history.claims
        if c.call.process.startswith(NARROWED_PROCESSES)
        and c.queue not in history.policies.narrowed
    ]


RULES: dict[str, Callable[[History], list[str]]] = {
    rule.__name__: rule
    for rule in (
        one_holder,
        one_of_a_key_in_a_claim,
        within_limits,
        order_per_key,
        parents_first,
        no_job_lost,
        counts_balance,
        ends_once,
        fenced,
        attempts_rise,
        nothing_stuck,
        all_done,
        no_strange_error,
        narrowed_stay_within,
    )
}


def broken_rules(history: History) -> dict[str, list[str]]:
    """The rules that the history breaks, each with where it does so."""
    found = {name: rule(history) for name, rule in RULES.items()}
    return {name: where for name, where in found.items() if where}


def read_calls(files: Iterable[Path]) -> list[Call]:
    """Calls from the files that processes wrote: a line when a call is made, one when answered."""
    calls = []
    for file in files:
        made: dict[int, dict[str, Any]] = {}
        for line in file.read_text().splitlines():
            part = json.loads(line)
            made.setdefault(part.pop("n"), {}).update(part)
        calls += [Call(**parts) for parts in made.values()]
    return calls
