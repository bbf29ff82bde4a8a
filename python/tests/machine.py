"""Random calls against a small model of jobs: state, order, key holder, attempts, policies.

Two connections: one makes all calls, each at once committed or rolled back; the other enqueues in a
transaction that stays open meanwhile.

The machine runs against any database whose clock is `public.clock`; properties/ runs it on pgbaton,
history/ on copies with a planted fault.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from invariants import UNREACHABLE, assert_sound, empty

QUEUES = {
    "standard": ("standard", "block"),
    "block": ("fifo", "block"),
    "continue": ("fifo", "continue"),
    "short": ("short", "block"),
    "singleton": ("singleton", "block"),
    "stately": ("stately", "block"),
    "exclusive": ("exclusive", "block"),
}
FIFO = ("block", "continue")
LINED = (*FIFO, "singleton", "stately")  # one runs at a time: its key has a baton
LIMITED = ("short", "stately", "exclusive")  # an enqueue may be refused
LEASE, RETRY_DELAY, MAX_ATTEMPTS = 60, 10, 2
NOON = 1_900_000_000  # the clock of each example starts here, in seconds since 1970
CLAIMABLE = ("pending", "retry", "unknown_retry")
LEASED = ("active", "cancelling")
FINAL = ("completed", "stopped", "unscheduled", "unknown_stopped", "resolved")
REFUSALS = {"lease_lost": "PB004", "invalid_state": "PB003", "not_found": "PB002"}
UNKNOWN_ID = 1_000_000
TOKEN_MAY_BE_NULL = ("complete", "complete_one", "fail", "fail_one", "stop", "acknowledge")
WORK = (
    *TOKEN_MAY_BE_NULL,
    "complete_claim",
    "start",
    "extend",
    "release",
    "stop_with_retry",
)


@dataclass
class Job:
    id: int
    queue: str
    key: str | None
    place: int  # in its key; at first in the order of enqueue
    born: int  # in the order of enqueue
    run_at: float | None
    state: str = "pending"
    ready: bool = False
    holds: bool = False
    attempt: int = 0
    extra: int = 0
    was_claimed: bool = False
    token: int | None = None
    lease_until: int | None = None
    worker: str | None = None
    after: tuple[Job, ...] = ()  # while it waits for these
    on_failed: str = "wait"
    was_skipped: bool = False
    since: float = NOON  # when the first came of those that replaced each other
    dedup_id: str | None = None

    def is_new(self) -> bool:
        return self.state in ("pending", "waiting") and not self.was_claimed

    def settles(self, on_failed: str) -> bool:
        """Whether a job that waits for this one needs to wait no more."""
        return (
            self.state == "completed"
            or self.was_skipped
            or (on_failed == "run" and self.state in (*FINAL, "failed"))
        )

    def seen(self, now: int) -> tuple[Any, ...]:
        """What the database must say of it; a run_at that has passed tells nothing."""
        if self.state in FINAL:
            return ("failed" if self.state == "resolved" else self.state, self.attempt)
        return (
            self.state,
            self.attempt,
            self.ready,
            self.key if self.holds else None,
            self.token,
            self.lease_until,
            self.run_at if self.run_at and self.run_at > now else None,
        )


class Model:
    """The rules of the queue in plain words."""

    def __init__(self) -> None:
        self.now = NOON
        self.jobs: dict[int, Job] = {}
        self.paused: set[tuple[str, str | None]] = set()
        self.places = 0
        self.hidden: list[Job] = []  # enqueued by the transaction that is open
        self.max_running: dict[str, int] = {}

    def draw(self) -> int:
        self.places += 1
        return self.places

    # Keys -----------------------------------------------------------------------------------------

    def of_key(self, queue: str, key: str | None) -> list[Job]:
        return [
            j
            for j in self.jobs.values()
            if (j.queue, j.key) == (queue, key) and j.state not in FINAL
        ]

    def is_idle(self, queue: str, key: str | None) -> bool:
        return not any(j.holds or j.state == "waiting" for j in self.of_key(queue, key))

    def is_due(self, job: Job) -> bool:
        return job.run_at is None or job.run_at <= self.now

    def is_locked(self, queue: str, key: str | None) -> bool:
        """Whether the open transaction keeps other producers of the key out."""
        return queue != "standard" and any((j.queue, j.key) == (queue, key) for j in self.hidden)

    def make_ready(self, job: Job) -> None:
        """Claimable, as far as its key is not paused and its time has come."""
        is_paused = job.holds and (job.queue, job.key) in self.paused
        job.ready = self.is_due(job) and not is_paused

    def queued(self, queue: str, key: str | None) -> Job | None:
        """The job that keeps another one of its key from being enqueued."""
        for job in self.of_key(queue, key):
            if (
                (queue == "short" and job.state == "pending")
                or (queue == "stately" and job.is_new())
                or (queue == "exclusive" and job.state != "failed")
            ):
                return job
        return None

    def is_retry_taken(self, job: Job) -> bool:
        """Of stately one job of a key may be in retry, of exclusive one may be live."""
        others = [j for j in self.of_key(job.queue, job.key) if j is not job]
        if job.queue == "exclusive":
            return any(j.state != "failed" for j in others)
        return job.queue == "stately" and any(
            j.state in ("retry", "unknown_retry", "waiting") and j.attempt > 0 for j in others
        )

    def enqueue(self, job_id: int, queue: str, key: str | None, run_at: float | None) -> None:
        self.jobs[job_id] = self.new_job(job_id, queue, key, run_at)

    def enqueue_hidden(self, job_id: int, queue: str, key: str | None) -> None:
        self.hidden.append(self.new_job(job_id, queue, key, None))

    def new_job(self, job_id: int, queue: str, key: str | None, run_at: float | None) -> Job:
        place = self.draw()
        job = Job(job_id, queue, key, place, place, run_at, since=self.now)
        if queue in FIFO or (queue in LINED and self.is_due(job)):
            job.holds = self.is_idle(queue, key) and not self.is_locked(queue, key)
            job.state = "pending" if job.holds else "waiting"
        if job.state == "pending":
            self.make_ready(job)
        return job

    def known(self, queue: str, dedup_id: str | None) -> Job | None:
        """The last job that was enqueued under an id."""
        return max(
            (
                j
                for j in self.jobs.values()
                if dedup_id and (j.queue, j.dedup_id) == (queue, dedup_id)
            ),
            key=lambda j: j.born,
            default=None,
        )

    def verdict_on_replacing(self, queue: str, key: str | None, known: Job | None) -> str:
        queued = self.queued(queue, key)
        if queued and not queued.is_new():
            return "rejected"
        if queued or (known and known.is_new()):
            return "replaced"
        is_known = known and known.state not in FINAL and (known.state != "failed" or known.holds)
        runs = queue == "stately" and any(j.state in LEASED for j in self.of_key(queue, key))
        return "behind" if is_known or runs else "enqueued"

    def replace(
        self,
        job_id: int,
        queue: str,
        key: str | None,
        known: Job | None,
        delay: int | None,
        debounce: int | None,
        max_wait: int | None,
    ) -> None:
        """What was not claimed ends, and the new job has its place if that is of its key."""
        queued = self.queued(queue, key)
        if known and not known.is_new():
            known = None
        place = queued or (known if known and known.key == key else None)
        if known and known is not place:
            self.end(known, "unscheduled")
        wait = delay if debounce is None else debounce
        run_at = None if wait is None else self.now + wait
        if place is None:
            self.enqueue(job_id, queue, key, run_at)
            return
        if debounce is not None and max_wait is not None:
            run_at = max(self.now, min(self.now + debounce, place.since + max_wait))
        if run_at is None:
            run_at = place.run_at if place.run_at and not place.after else self.now
        job = Job(job_id, queue, key, place.place, self.draw(), run_at, place.state)
        job.since, job.holds = place.since, place.holds
        was_ready = place.ready or (job.holds and (queue, key) in self.paused)
        place.state, place.ready, place.holds, place.after = "unscheduled", False, False, ()
        self.jobs[job_id] = job
        if not self.is_due(job) and queue in ("singleton", "stately"):
            job.state = "pending"  # it is not in line while it waits for its time
            self.let_go(job)
        elif job.state == "pending" and queue in ("singleton", "stately") and not job.holds:
            job.state, job.place = "waiting", self.draw()
        elif job.state == "pending":
            self.make_ready(job)
            if self.is_due(job) and was_ready and (place.run_at or 0) <= self.now:
                job.run_at = place.run_at

    def waiting_for_jobs(self) -> list[Job]:
        return [j for j in self.jobs.values() if j.after and j.state not in FINAL]

    def is_free(self, job: Job) -> bool:
        return all(parent.settles(job.on_failed) for parent in job.after)

    def let_run(self, job: Job) -> None:
        """It waits for no job any more."""
        job.after = ()
        job.run_at = self.now
        if job.state == "pending":
            self.make_ready(job)

    def reveal(self) -> None:
        """The transaction commits: its jobs stand where they were enqueued."""
        for job in self.hidden:
            if job.ready:
                self.make_ready(job)  # its key may have been paused meanwhile
        found = [*self.jobs.values(), *self.hidden]
        self.jobs = {j.id: j for j in sorted(found, key=lambda j: j.born)}
        self.hidden = []

    def hand_on(self, queue: str, key: str | None) -> None:
        """An idle key goes to its first waiting job."""
        line = self.of_key(queue, key)
        waiting = [j for j in line if j.state == "waiting"]
        if waiting and not any(j.holds for j in line):
            heir = min(waiting, key=lambda j: j.place)
            heir.holds = True
            heir.state = "retry" if heir.was_claimed else "pending"
            self.make_ready(heir)

    def let_go(self, job: Job) -> None:
        if job.holds:
            job.holds = False
            self.hand_on(job.queue, job.key)

    # Transitions ----------------------------------------------------------------------------------

    def end(self, job: Job, state: str) -> None:
        job.state, job.ready = state, False
        if state != "unknown_stopped":  # that one may still be completed under its lease
            job.token = None
        self.let_go(job)

    def lose_lease(self, job: Job) -> None:
        job.token = job.lease_until = None

    def is_spent(self, job: Job) -> bool:
        return job.attempt >= MAX_ATTEMPTS + job.extra or (
            job.queue == "stately" and self.is_retry_taken(job)
        )

    def fail(self, job: Job, retryable: bool) -> None:
        is_over = not retryable or self.is_spent(job)
        self.lose_lease(job)
        job.ready = False
        job.state = "failed" if is_over else "retry"
        job.run_at = None if is_over else self.now + RETRY_DELAY
        keeps_key = job.queue == "block" or (job.queue == "continue" and not is_over)
        if not keeps_key:
            self.let_go(job)

    def give_back(self, job: Job, state: str, run_in: int = 0) -> None:
        has_ended = job.lease_until is not None and job.lease_until < self.now
        token = job.token if state == "unknown_retry" and has_ended else None
        self.lose_lease(job)
        job.token = token  # of a lease that ended: who had it may still end the job
        job.state, job.run_at = state, self.now + run_in
        job.ready = False
        if run_in and job.queue not in FIFO:
            self.let_go(job)
        elif not run_in:
            self.make_ready(job)

    def recover(self, jobs: list[Job]) -> None:
        for job in jobs:
            if job.state == "cancelling":
                self.end(job, "unknown_stopped")
            elif self.is_spent(job):
                self.fail(job, retryable=False)
            else:
                self.give_back(job, "unknown_retry")

    def gone(self, job: Job) -> str:
        """The state in which a job ends that an operator takes out."""
        if job.state == "failed":
            return "resolved"
        is_new = job.state in ("waiting", "pending") and not job.was_claimed
        return "unscheduled" if is_new else "stopped"

    def cancel(self, job: Job) -> None:
        if job.state in LEASED:
            job.state = "cancelling"
        else:
            self.end(job, self.gone(job))

    def retry(self, job: Job) -> None:
        job.extra += 1
        job.run_at = self.now
        if job.queue in LINED and not job.holds:
            job.holds = self.is_idle(job.queue, job.key)
        if job.holds or job.queue not in LINED:
            job.state = "retry"
            self.make_ready(job)
        else:
            job.state = "waiting"
            job.place = job.place if job.queue in FIFO else self.draw()

    def startable(self, jobs: list[Job]) -> int:
        """How many of these ready jobs the limits of their queues let start."""
        running = Counter(job.queue for job in self.leased())
        return sum(
            min(ready, max(0, self.max_running[queue] - running[queue]))
            if queue in self.max_running
            else ready
            for queue, ready in Counter(job.queue for job in jobs).items()
        )

    def leased(self) -> list[Job]:
        return [j for j in self.jobs.values() if j.state in LEASED]

    def ended_leases(self) -> list[Job]:
        return [j for j in self.leased() if (j.lease_until or 0) < self.now]

    def due(self) -> list[Job]:
        """Jobs whose time has come since somebody last looked."""
        return [
            j for j in self.jobs.values() if j.state in CLAIMABLE and not j.ready and self.is_due(j)
        ]

    def make_due(self) -> None:
        for job in self.due():
            if job.queue in LINED and not job.holds:
                job.state = "waiting"  # back into the line of its key
            else:
                self.make_ready(job)
        for job in list(self.jobs.values()):
            if job.state == "waiting" and not self.is_locked(job.queue, job.key):
                self.hand_on(job.queue, job.key)

    def may_complete_late(self, job: Job, token: int | None) -> bool:
        return job.state == "unknown_stopped" and (
            job.queue not in FIFO if token is None else job.token == token
        )

    def verdict(self, job_id: int, token: int | None, states: tuple[str, ...]) -> str:
        job = self.jobs.get(job_id)
        if job is None:
            return "not_found"
        if job.state in FINAL:
            return "invalid_state"
        needs_token = job.holds and job.queue in FIFO
        is_ours = job.token == token if token is not None else not needs_token
        if job.state in states and is_ours:
            return "ok"
        if token is not None and (job.token != token or job.state == "unknown_retry"):
            return "lease_lost"
        if token is None and needs_token and job.state != "failed":
            return "lease_lost"
        return "invalid_state"


picks = st.integers(0, 1_000)
key_names = st.sampled_from(["a", "a", "b"])
# Of a batch: several jobs of one key after each other, as they come sorted.
key_runs = st.lists(
    st.tuples(key_names, st.sampled_from([1, 1, 2, 3, 12])), min_size=1, max_size=6
).map(lambda runs: [name for name, length in runs for _ in range(length)])
some_jobs = st.lists(picks, min_size=1, max_size=6)
workers = st.sampled_from(["ann", "bob"])


def waits_for_producers(call: str, job: Job) -> bool:
    """Whether an operator's call takes the lock that an open producer of the key holds."""
    if call == "retry":
        return job.queue in ("stately", "exclusive") or (job.queue in LINED and not job.holds)
    return call == "requeue"


class Machine(RuleBasedStateMachine):
    """Random calls of producers, workers and operators, one after the other."""

    conn: psycopg.Connection[Any]
    other: psycopg.Connection[Any]
    calls = 0

    # What the rules share -------------------------------------------------------------------------

    def rows(self, query: LiteralString, *args: Any) -> list[tuple[Any, ...]]:
        type(self).calls += 1
        try:
            found = self.conn.execute(query, args).fetchall()
        except psycopg.Error as error:
            note(f"{query} {args} -> {error.sqlstate}")
            raise
        note(f"{query} {args} -> {found}")
        return found

    def one(self, query: LiteralString, *args: Any) -> Any:
        return self.rows(query, *args)[0][0]

    def blocked(self, query: LiteralString, *args: Any) -> None:
        """The call waits for the transaction that is open on the other connection."""
        self.conn.execute("set lock_timeout = '20 ms'")
        self.refused("55P03", query, *args)
        self.conn.execute("set lock_timeout = '20 s'")

    def refused(self, sqlstate: str, query: LiteralString, *args: Any) -> None:
        try:
            self.rows(query, *args)
        except psycopg.Error as error:
            assert error.sqlstate == sqlstate  # noqa: PT017 - raises() would fail in another way
        else:
            raise AssertionError(f"not refused with {sqlstate}")

    def batch(
        self,
        query: LiteralString,
        ids: list[int],
        token: int | None,
        states: tuple[str, ...],
        *args: Any,
        when_cancelling: str = "ok",
    ) -> list[Job]:
        """Makes a call of a worker, checks its verdicts and returns the jobs that it moves."""
        found = [self.model.verdict(i, token, states) for i in ids]
        moved = [self.model.jobs[i] for i, said in zip(ids, found, strict=True) if said == "ok"]
        expected = [
            when_cancelling if said == "ok" and self.model.jobs[i].state == "cancelling" else said
            for i, said in zip(ids, found, strict=True)
        ]
        assert [row[0] for row in self.rows(query, ids, token, *args)] == expected
        return moved

    def single(
        self, query: LiteralString, job: int, token: int | None, states: tuple[str, ...]
    ) -> Job | None:
        """Makes a call on one job; returns the job if the call is to be accepted."""
        verdict = self.model.verdict(job, token, states)
        if verdict != "ok":
            self.refused(REFUSALS[verdict], query, job, token)
            return None
        self.rows(query, job, token)
        return self.model.jobs[job]

    # Producers ------------------------------------------------------------------------------------

    @initialize(queues=st.lists(st.sampled_from([*QUEUES]), min_size=1, max_size=3, unique=True))
    def begin(self, queues: list[str]) -> None:
        # Few queues and keys, so that what happens in them meets.
        self.queues = queues
        self.conn.rollback()
        self.other.rollback()
        self.other.execute("discard sequences")  # job ids that it drew in the last example
        self.conn.execute("set lock_timeout = '20 s'")  # who waits for the other waits for ever
        empty(self.conn)
        self.conn.execute("update public.clock set instant = to_timestamp(%s)", [NOON])
        for name, (policy, on_exhausted) in QUEUES.items():
            self.conn.execute(
                "select pgbaton.create_queue(%s, %s::text::pgbaton.queue_policy,"
                " %s::text::pgbaton.on_exhausted, max_attempts => %s,"
                " retry_delay => make_interval(secs => %s), retry_backoff => false,"
                " lease => make_interval(secs => %s))",
                [name, policy, on_exhausted, MAX_ATTEMPTS, RETRY_DELAY, LEASE],
            )
        self.model = Model()
        self.tokens: list[int] = []

    def queue(self, which: int) -> str:
        return self.queues[which % len(self.queues)]

    @rule(
        which=picks,
        key=key_names,
        delay=st.sampled_from([None, None, None, 0, 5, 30]),
        skips=st.booleans(),
    )
    def enqueue(self, which: int, key: str, delay: int | None, skips: bool) -> None:
        queue = self.queue(which)
        name = None if queue == "standard" else key
        query: LiteralString = (
            "select pgbaton.enqueue_job(%s, singleton_key => %s,"
            " delay => make_interval(secs => %s), on_duplicate => %s, dedup_id => %s)"
        )
        earlier = self.model.queued(queue, name)
        how, dedup_id = ("skip", f"id {self.model.draw()}") if skips else ("error", None)
        is_in_line = queue != "singleton" or not delay  # else it comes into line when it is due
        if self.model.is_locked(queue, name) and is_in_line:
            self.blocked(query, queue, name, delay, how, dedup_id)
            return
        if earlier and not skips:
            self.refused("PB006", query, queue, name, delay, how, dedup_id)
            return
        job = self.one(query, queue, name, delay, how, dedup_id)
        if earlier:
            assert job == earlier.id
            return
        run_at = None if delay is None else self.model.now + delay
        self.model.enqueue(job, queue, name, run_at)

    @rule(which=picks, names=key_runs)
    def enqueue_jobs(self, which: int, names: list[str]) -> None:
        queue = self.queue(which)
        if queue in LIMITED:
            query: LiteralString = (
                "select job_id, outcome from pgbaton.enqueue_jobs(%s, (select"
                " jsonb_agg(jsonb_build_object('singleton_key', k.key) order by k.n)"
                " from unnest(%s::text[]) with ordinality as k (key, n))) order by ordinal"
            )
        else:
            query = (
                "select pgbaton.enqueue_batch(i.queue, array_fill('{}'::jsonb,"
                " array[cardinality(i.keys)]), case when i.queue <> 'standard' then i.keys end),"
                " 'enqueued' from (select %s::text as queue, %s::text[] as keys) as i"
            )
        if any(self.model.is_locked(queue, name) for name in names):
            self.blocked(query, queue, names)
            return
        for (job, outcome), name in zip(self.rows(query, queue, names), names, strict=True):
            key = None if queue == "standard" else name
            is_refused = self.model.queued(queue, key) is not None
            assert outcome.startswith("rejected") if is_refused else outcome == "enqueued"
            if outcome == "enqueued":
                self.model.enqueue(job, queue, key, None)

    @rule(
        which=picks,
        key=key_names,
        dedup_id=st.sampled_from(["x", "x", "y", None]),
        delay=st.sampled_from([None, None, None, 0, 5, 30]),
        debounce=st.sampled_from([None, 5, 30]),
        max_wait=st.sampled_from([None, 31, 40]),
    )
    def replace(
        self,
        which: int,
        key: str,
        dedup_id: str | None,
        delay: int | None,
        debounce: int | None,
        max_wait: int | None,
    ) -> None:
        queue = self.queue(which)
        name = None if queue == "standard" else key
        if queue not in LIMITED:
            dedup_id = dedup_id or "y"
        if debounce is None:
            max_wait = None
        else:
            delay = None
        query: LiteralString = (
            "select job_id, outcome from pgbaton.enqueue_jobs(%s, jsonb_build_array("
            "jsonb_strip_nulls(jsonb_build_object('on_duplicate', 'replace',"
            " 'singleton_key', %s::text, 'dedup_id', %s::text, 'delay', make_interval(secs => %s),"
            " 'debounce', make_interval(secs => %s), 'max_wait', make_interval(secs => %s)))))"
        )
        given = (queue, name, dedup_id, delay, debounce, max_wait)
        if self.model.is_locked(queue, name):
            self.blocked(query, *given)
            return
        known = self.model.known(queue, dedup_id)
        expected = self.model.verdict_on_replacing(queue, name, known)
        [(job, outcome)] = self.rows(query, *given)
        assert outcome.partition(":")[0] == expected
        if job is not None:
            self.model.replace(job, queue, name, known, delay, debounce, max_wait)
            self.model.jobs[job].dedup_id = dedup_id

    @precondition(lambda self: self.model.jobs and {"standard", *FIFO} & {*self.queues})
    @rule(
        which=picks,
        key=key_names,
        picked=st.lists(picks, min_size=1, max_size=20),
        on_failed=st.sampled_from(["wait", "run"]),
    )
    def enqueue_after(self, which: int, key: str, picked: list[int], on_failed: str) -> None:
        """A job that waits for some of those that are there or have ended."""
        queues = [queue for queue in self.queues if queue in ("standard", *FIFO)]
        queue = queues[which % len(queues)]
        name = None if queue == "standard" else key
        if self.model.is_locked(queue, name):
            return
        known = [*self.model.jobs]
        parents = sorted({known[n % len(known)] for n in picked})
        job = self.one(
            "select pgbaton.enqueue_job(%s, singleton_key => %s, after => %s, on_failed => %s)",
            queue, name, parents, on_failed,
        )  # fmt: skip
        self.model.enqueue(job, queue, name, float("inf"))
        self.model.jobs[job].after = tuple(self.model.jobs[parent] for parent in parents)
        self.model.jobs[job].on_failed = on_failed

    @precondition(lambda self: self.model.waiting_for_jobs())
    @rule(which=picks)
    def stop_waiting(self, which: int) -> None:
        waiting = self.model.waiting_for_jobs()
        job = waiting[which % len(waiting)]
        self.rows("select pgbaton.stop_waiting(%s, %s)", job.queue, job.id)
        self.model.let_run(job)

    @rule(which=picks, names=st.lists(key_names, min_size=1, max_size=3))
    def enqueue_elsewhere(self, which: int, names: list[str]) -> None:
        """Within a transaction that stays open."""
        queue = self.queue(which)
        if not self.model.hidden:
            self.other.execute("begin")
        for name in names:
            key = None if queue == "standard" else name
            is_taken = self.model.queued(queue, key) or self.model.is_locked(queue, key)
            if queue in LIMITED and is_taken:
                continue
            query: LiteralString = "select pgbaton.enqueue_job(%s, singleton_key => %s)"
            (job,) = self.other.execute(query, [queue, key]).fetchone() or (None,)
            note(f"elsewhere: {query} {queue} {key} -> {job}")
            self.model.enqueue_hidden(job, queue, key)
        if not self.model.hidden:
            self.other.rollback()

    @precondition(lambda self: self.model.hidden)
    @rule(is_committed=st.sampled_from([True, True, False]))
    def end_elsewhere(self, is_committed: bool) -> None:
        if is_committed:
            self.other.commit()
            self.model.reveal()
        else:
            self.other.rollback()
            self.model.hidden = []

    # Workers --------------------------------------------------------------------------------------

    @rule(
        worker=workers,
        which=st.one_of(st.none(), picks),
        size=st.sampled_from([1, 2, 3, 10, 30]),
    )
    def claim(self, worker: str, which: int | None, size: int) -> None:
        queues = None if which is None else [self.queue(which)]
        rows = self.rows(
            "select id, attempt, singleton_key, lease_token"
            " from pgbaton.claim_job_batch(%s, %s, batch_size => %s)",
            worker,
            queues,
            size,
        )
        self.tend()
        open_to_all = [
            j for j in self.model.jobs.values() if j.ready and (queues is None or j.queue in queues)
        ]
        claimed = [self.model.jobs[row[0]] for row in rows]
        assert len(claimed) == min(size, self.model.startable(open_to_all))
        assert {j.id for j in claimed} <= {j.id for j in open_to_all}
        self.check_order(claimed, open_to_all)
        for job, (_, attempt, key, token) in zip(claimed, rows, strict=True):
            job.state, job.ready, job.worker, job.was_claimed = "active", False, worker, True
            job.attempt += 1
            job.token, job.lease_until = token, self.model.now + LEASE
            assert (job.attempt, job.key) == (attempt, key)
        assert len({row[3] for row in rows}) <= 1
        self.tokens += sorted({row[3] for row in rows})

    def tend(self) -> None:
        """What a claim and the maintenance do by the way."""
        returning = [j for j in self.model.due() if j.queue in LINED and j.queue not in FIFO]
        if returning:
            # Of two that became due at once either may come first in its line.
            tickets = dict(
                self.conn.execute("select lo, key_position from pgbaton.span").fetchall()
            )
            for job in sorted(returning, key=lambda j: tickets.get(j.id) or 0):
                job.place = self.model.draw() if not job.holds else job.place
        self.model.make_due()
        self.model.recover(self.model.ended_leases())
        # It looks at who waits before and perhaps also after that.
        held = {row[0] for row in self.conn.execute("select child_id from pgbaton.job_wait")}
        for job in self.model.waiting_for_jobs():
            if job.id not in held:
                assert self.model.is_free(job)
                self.model.let_run(job)
        if not self.conn.execute("select from pgbaton.baton_release").fetchall():
            assert not any(self.model.is_free(job) for job in self.model.waiting_for_jobs())

    def check_order(self, claimed: list[Job], open_to_all: list[Job]) -> None:
        """The first in line of the new jobs of a queue; and the head of each key."""
        new = sorted(
            (
                j
                for j in open_to_all
                if j.queue == "standard" and j.state == "pending" and not j.run_at
            ),
            key=lambda j: j.place,
        )
        taken = [j for j in claimed if j in new]
        # Which ones, not in which order: what one session enqueued one by one comes together.
        assert {j.place for j in taken} == {j.place for j in new[: len(taken)]}
        for job in claimed:
            if job.queue == "block":
                assert job is min(self.model.of_key("block", job.key), key=lambda j: j.place)
            if job.queue in LINED:
                running = [j for j in self.model.of_key(job.queue, job.key) if j.state in LEASED]
                assert running == []

    def work(
        self, call: str, jobs: list[Job], token: int | None, picked: list[int], flag: bool
    ) -> None:
        ids = [j.id for j in jobs] or [UNKNOWN_ID]
        ids = list(dict.fromkeys(ids[n % len(ids)] for n in picked))
        getattr(self, f"_{call}")(ids, token, flag)

    def work_as_holder(self, call: str, which: int, picked: list[int], flag: bool) -> None:
        leased = self.model.leased()
        if call in ("acknowledge", "stop_with_retry"):
            leased = [j for j in leased if j.state == "cancelling"] or leased
        token = leased[which % len(leased)].token
        self.work(call, [j for j in leased if j.token == token], token, picked, flag)

    # Several rules, since each is as likely as any other.

    @precondition(lambda self: self.model.leased())
    @rule(
        call=st.sampled_from(["complete", "complete_one", "complete_claim"]),
        which=picks,
        picked=some_jobs,
    )
    def complete(self, call: str, which: int, picked: list[int]) -> None:
        self.work_as_holder(call, which, picked, False)

    @precondition(lambda self: self.model.leased())
    @rule(
        call=st.sampled_from(["fail", "fail", "fail_one", "release"]),
        which=picks,
        picked=some_jobs,
        flag=st.booleans(),
    )
    def give_back(self, call: str, which: int, picked: list[int], flag: bool) -> None:
        self.work_as_holder(call, which, picked, flag)

    @precondition(lambda self: self.model.leased())
    @rule(
        call=st.sampled_from(
            ["start", "extend", "stop", "stop_with_retry", "acknowledge", "acknowledge"]
        ),
        which=picks,
        picked=some_jobs,
        flag=st.booleans(),
    )
    def hold(self, call: str, which: int, picked: list[int], flag: bool) -> None:
        self.work_as_holder(call, which, picked, flag)

    @rule(
        call=st.sampled_from(WORK),
        worker=workers,
        size=st.sampled_from([1, 2, 10]),
        which=picks,
        picked=some_jobs,
        flag=st.booleans(),
    )
    def take_a_turn(
        self, call: str, worker: str, size: int, which: int, picked: list[int], flag: bool
    ) -> None:
        self.claim(worker, None, size)
        if self.model.leased():
            self.work_as_holder(call, which, picked, flag)

    @rule(
        call=st.sampled_from(WORK),
        worker=workers,
        which=picks,
        picked=some_jobs,
        flag=st.booleans(),
    )
    def turn_back(self, call: str, worker: str, which: int, picked: list[int], flag: bool) -> None:
        """A turn in a transaction that is rolled back."""
        before = deepcopy(self.model), [*self.tokens]
        self.conn.execute("begin")
        self.take_a_turn(call, worker, 10, which, picked, flag)
        self.conn.rollback()
        self.model, self.tokens = before

    @precondition(lambda self: self.tokens)
    @rule(
        call=st.sampled_from(WORK),
        which=picks,
        picked=some_jobs,
        whose=st.sampled_from(["leased", "leased", "ended", "any"]),
        has_token=st.booleans(),
        flag=st.booleans(),
    )
    def intrude(
        self, call: str, which: int, picked: list[int], whose: str, has_token: bool, flag: bool
    ) -> None:
        """A call under any old token, or none, for jobs that somebody else may have."""
        jobs = [
            j
            for j in self.model.jobs.values()
            if whose == "any"
            or (whose == "leased" and j.state in (*LEASED, "unknown_retry"))
            or (whose == "ended" and j.state in FINAL)
        ]
        token = self.tokens[which % len(self.tokens)]
        is_without = call in TOKEN_MAY_BE_NULL and not has_token
        self.work(call, jobs, None if is_without else token, picked, flag)

    def _start(self, ids: list[int], token: int, _: bool) -> None:
        query = "select verdict from pgbaton.start_jobs(%s, %s) order by ordinal"
        self.batch(query, ids, token, LEASED, when_cancelling="cancel_requested")

    def _extend(self, ids: list[int], token: int, _: bool) -> None:
        query = "select verdict from pgbaton.extend_leases(%s, %s) order by ordinal"
        for job in self.batch(query, ids, token, LEASED, when_cancelling="cancel_requested"):
            job.lease_until = self.model.now + LEASE

    def _complete(self, ids: list[int], token: int | None, _: bool) -> None:
        late = [i for i in ids if self.is_late(i, token)]
        query = "select verdict from pgbaton.complete_jobs(%s, %s) order by ordinal"
        found = {
            i: "ok" if i in late else self.model.verdict(i, token, (*LEASED, "unknown_retry"))
            for i in ids
        }
        assert [row[0] for row in self.rows(query, ids, token)] == [found[i] for i in ids]
        for job in ids:
            if found[job] == "ok":
                self.model.end(self.model.jobs[job], "completed")

    def is_late(self, job: int, token: int | None) -> bool:
        return job in self.model.jobs and self.model.may_complete_late(self.model.jobs[job], token)

    def _complete_one(self, ids: list[int], token: int | None, _: bool) -> None:
        query: LiteralString = "select pgbaton.complete_job(%s, lease_token => %s)"
        if self.is_late(ids[0], token):
            self.rows(query, ids[0], token)
            self.model.end(self.model.jobs[ids[0]], "completed")
        elif job := self.single(query, ids[0], token, (*LEASED, "unknown_retry")):
            self.model.end(job, "completed")

    def _complete_claim(self, _: list[int], token: int, __: bool) -> None:
        ours = [
            j
            for j in self.model.jobs.values()
            if j.token == token and j.state in (*LEASED, "unknown_retry")
        ]
        assert self.one("select pgbaton.complete_claim(%s)", token) == len(ours)
        for job in ours:
            self.model.end(job, "completed")

    def _fail(self, ids: list[int], token: int | None, is_final: bool) -> None:
        query: LiteralString = """
            select v.verdict from (select %s::bigint[] as ids, %s::bigint as token) as i
            cross join lateral pgbaton.fail_jobs(
                i.ids, array_fill('no'::text, array[cardinality(i.ids)]), i.token, not %s
            ) as v order by v.ordinal
        """
        for job in self.batch(query, ids, token, ("active", "unknown_retry"), is_final):
            self.model.fail(job, retryable=not is_final)

    def _fail_one(self, ids: list[int], token: int | None, is_final: bool) -> None:
        query: LiteralString = (
            "select pgbaton.fail_job(%s, 'no', %s, retryable => false)"
            if is_final
            else "select pgbaton.fail_job(%s, 'no', %s)"
        )
        if job := self.single(query, ids[0], token, ("active", "unknown_retry")):
            self.model.fail(job, retryable=not is_final)

    def _release(self, ids: list[int], token: int, is_later: bool) -> None:
        run_in = 20 if is_later else 0
        query: LiteralString = """
            select verdict from pgbaton.release_jobs(%s, %s, make_interval(secs => %s))
            order by ordinal
        """
        for job in self.batch(query, ids, token, ("active",), run_in):
            job.attempt -= 1
            self.model.give_back(job, "retry", run_in)

    def _stop(self, ids: list[int], token: int | None, _: bool) -> None:
        query: LiteralString = "select pgbaton.stop_job(%s, lease_token => %s)"
        if job := self.single(query, ids[0], token, (*LEASED, "unknown_retry")):
            self.model.end(job, "stopped")

    def _stop_with_retry(self, ids: list[int], token: int | None, _: bool) -> None:
        query: LiteralString = "select pgbaton.stop_job_with_retry(%s, 'no', %s)"
        if job := self.single(query, ids[0], token, ("cancelling",)):
            self.model.end(job, "stopped")

    def _acknowledge(self, ids: list[int], token: int | None, was_executing: bool) -> None:
        query: LiteralString = (
            "select pgbaton.acknowledge_cancellation(%s, true, %s)"
            if was_executing
            else "select pgbaton.acknowledge_cancellation(%s, false, %s)"
        )
        if job := self.single(query, ids[0], token, ("cancelling",)):
            self.model.end(job, "stopped" if was_executing else "unknown_stopped")

    # Operators ------------------------------------------------------------------------------------

    @precondition(lambda self: self.model.jobs)
    @rule(
        call=st.sampled_from(["retry", "retry", "skip", "delete", "requeue", "give_up", "cancel"]),
        picked=some_jobs,
        is_sensible=st.sampled_from([True, True, True, False]),
    )
    def operate(self, call: str, picked: list[int], is_sensible: bool) -> None:
        if call == "cancel":
            self.cancel(picked)
            return
        accepted: tuple[str, ...] = {
            "delete": ("failed", "waiting", *CLAIMABLE),
            "give_up": (*LEASED, "unknown_retry"),
        }.get(call, ("failed",))
        jobs = [j for j in self.model.jobs.values() if j.state in accepted or not is_sensible]
        if not jobs:
            return
        job = jobs[picked[0] % len(jobs)]
        query: LiteralString = {
            "retry": "select pgbaton.retry_job(%s, %s)",
            "skip": "select pgbaton.skip_job(%s, %s)",
            "delete": "select pgbaton.delete_job(%s, %s)",
            "requeue": "select q, pgbaton.requeue_dead_job(i)"
            " from (values (%s::text, %s::bigint)) as v (q, i)",
            "give_up": "select q, pgbaton.mark_job_unknown_stopped(i)"
            " from (values (%s::text, %s::bigint)) as v (q, i)",
        }[call]
        if job.state not in accepted:
            self.refused("PB003", query, job.queue, job.id)
        elif self.model.is_locked(job.queue, job.key) and waits_for_producers(call, job):
            self.blocked(query, job.queue, job.id)
        elif (call == "retry" and self.model.is_retry_taken(job)) or (
            call == "requeue" and self.model.queued(job.queue, job.key)
        ):
            self.refused("PB006", query, job.queue, job.id)
        else:
            answer = self.rows(query, job.queue, job.id)[0][-1]
            job.was_skipped = call == "skip"
            self.resolve(call, job, answer)

    def cancel(self, picked: list[int]) -> None:
        known = [*self.model.jobs, UNKNOWN_ID]
        ids = sorted({known[n % len(known)] for n in picked})
        jobs = [self.model.jobs[i] for i in ids if i != UNKNOWN_ID]
        jobs = [j for j in jobs if j.state not in (*FINAL, "failed")]
        cancelled = [j.id for j in jobs]
        row = self.rows("select * from pgbaton.cancel_jobs(job_ids => %s)", ids)[0]
        assert row == (cancelled, [i for i in ids if i not in cancelled])
        # Whoever ends first lets its key go to one that is cancelled too: all are taken out first.
        for job in sorted(jobs, key=lambda j: j.holds):
            self.model.cancel(job)

    def resolve(self, call: str, job: Job, answer: Any) -> None:
        if call == "retry":
            self.model.retry(job)
        elif call == "requeue":
            self.model.end(job, "resolved")
            self.model.enqueue(answer, job.queue, job.key, None)
        else:
            self.model.end(job, "unknown_stopped" if call == "give_up" else self.model.gone(job))

    @rule(
        call=st.sampled_from(["pause", "pause", "resume", "resume", "resume", "reset"]),
        which=picks,
        key=key_names,
    )
    def operate_key(self, call: str, which: int, key: str) -> None:
        queue = self.queue(which)
        query: LiteralString = {
            "pause": "select pgbaton.pause_key(%s, %s)",
            "resume": "select pgbaton.resume_key(%s, %s)",
            "reset": "select pgbaton.reset_fifo_key(%s, %s, 'why')",
        }[call]
        if queue not in LINED:
            self.refused("PB003", query, queue, key)
            return
        holder = next((j for j in self.model.of_key(queue, key) if j.holds), None)
        if call == "reset" and holder and holder.after:
            self.refused("PB003", query, queue, key)
            return
        self.rows(query, queue, key)
        holder = next((j for j in self.model.of_key(queue, key) if j.holds), None)
        if call == "pause":
            self.model.paused.add((queue, key))
        elif call == "resume" and (queue, key) in self.model.paused:
            self.model.paused.remove((queue, key))
        elif call == "resume":
            return
        if holder is None:
            return
        if call != "reset":
            if holder.state in CLAIMABLE:
                self.model.make_ready(holder)
        elif holder.state == "failed":
            holder.was_skipped = True
            self.model.end(holder, "resolved")
        elif holder.state in LEASED:
            self.model.recover([holder])
        else:
            self.model.give_back(holder, holder.state)

    @rule(
        call=st.sampled_from(["recover", "give up", "purge", "maintain", "others"]),
        worker=workers,
        which=picks,
    )
    def keep_up(self, call: str, worker: str, which: int) -> None:
        queue = self.queue(which)
        if call == "recover":
            lost = self.model.ended_leases()
            assert self.one("select pgbaton.recover_stale_jobs()") == len(lost)
            self.model.recover(lost)
        elif call == "give up":
            lost = [j for j in self.model.leased() if j.worker == worker]
            assert self.one("select pgbaton.mark_worker_unresponsive(%s)", worker) == len(lost)
            self.model.recover(lost)
        elif call == "purge":
            dead = [
                j
                for j in self.model.jobs.values()
                if (j.queue, j.state, j.holds) == (queue, "failed", False)
            ]
            assert self.one("select pgbaton.purge_dead_jobs(%s)", queue) == len(dead)
            for job in dead:
                self.model.end(job, "resolved")
        elif call == "maintain":
            self.rows("select pgbaton.run_maintenance()")
            self.tend()
        elif not self.model.hidden:
            # Jobs of others draw positions, so that watermarks move.
            self.rows(
                "select setval('pgbaton.position_seq', last_value + 64 * 300)"
                " from pgbaton.position_seq"
            )

    @precondition(lambda self: not self.model.hidden)
    @rule(which=picks, max_running=st.sampled_from([None, 1, 1, 2, 4]))
    def limit(self, which: int, max_running: int | None) -> None:
        """Whatever runs at the moment; it waits for open producers of the queue."""
        queue = self.queue(which)
        self.rows("select pgbaton.set_queue_limits(%s, max_running => %s)", queue, max_running)
        self.model.max_running.pop(queue, None)
        if max_running is not None:
            self.model.max_running[queue] = max_running

    @rule(seconds=st.sampled_from([1, 6, 11, 11, 61, 600]))
    def pass_time(self, seconds: int) -> None:
        self.model.now += seconds
        self.conn.execute("update public.clock set instant = to_timestamp(%s)", [self.model.now])

    # Checks ---------------------------------------------------------------------------------------

    @invariant()
    def the_database_is_as_the_model(self) -> None:
        live = self.conn.execute(
            """
            select g.id, s.state::text, s.attempt, s.ready, s.held_key, s.lease_token,
                extract(epoch from s.lease_until),
                case when s.run_at > to_timestamp(%s) then extract(epoch from s.run_at) end
            from pgbaton.span as s cross join lateral generate_series(s.lo, s.hi) as g (id)
            """,
            [self.model.now],
        ).fetchall()
        final = self.conn.execute("""
            select g.id, h.state::text, h.attempt
            from pgbaton.job_history as h cross join lateral generate_series(h.lo, h.hi) as g (id)
        """).fetchall()
        assert len(live) + len(final) == len(self.model.jobs)
        seen = {row[0]: row[1:] for row in [*live, *final]}
        for job in self.model.jobs.values():
            # A claim looks whether the key is paused, not who makes its job ready.
            if job.holds and (job.queue, job.key) in self.model.paused:
                state, attempt, _, *rest = seen[job.id]
                seen[job.id] = (state, attempt, False, *rest)
        expected = {j.id: j.seen(self.model.now) for j in self.model.jobs.values()}
        assert {i: (seen.get(i), e) for i, e in expected.items() if seen.get(i) != e} == {}

    @invariant()
    def all_that_is_ready_can_be_found(self) -> None:
        assert self.conn.execute(UNREACHABLE).fetchall() == []

    def last_claim(self) -> int | None:
        """A claim looks at what ended before it; what was let go meanwhile is for the next one."""
        query: LiteralString = "select max(lease_token) from pgbaton.claim_job_batch('last')"
        return self.one(query) or self.one(query)

    def teardown(self) -> None:
        """Whatever happened: all jobs run to their end but failed ones and those behind them."""
        self.other.commit()
        for queue, key in self.model.paused:
            self.rows("select pgbaton.resume_key(%s, %s)", queue, key)
        for queue in self.model.max_running:
            self.rows("select pgbaton.set_queue_limits(%s)", queue)
        assert_sound(self.conn)
        self.conn.execute("update public.clock set instant = instant + interval '1 hour'")
        while token := self.last_claim():
            self.rows("select pgbaton.complete_claim(%s)", token)
        # What waits for a job that did not complete is let go by hand, one after the other.
        # So is what waits for one that stands behind a failed one: nothing else that lives is left.
        stuck: LiteralString = """
            select queue, job_id from pgbaton.blocked_jobs()
            union all
            select q.name, w.child_id from pgbaton.job_wait as w
            inner join pgbaton.queue as q on q.id = w.queue_id
            where exists (select from pgbaton.span as s where w.parent_id between s.lo and s.hi)
            limit 1
        """
        while held := self.rows(stuck):
            self.rows("select pgbaton.stop_waiting(%s, %s)", *held[0])
            while token := self.last_claim():
                self.rows("select pgbaton.complete_claim(%s)", token)
        left = self.rows("""
            select s.lo, s.state from pgbaton.span as s
            where s.state <> 'failed' and not (s.state = 'waiting' and exists (
                select from pgbaton.span as h
                where h.queue_id = s.queue_id and h.held_key = s.singleton_key
                    and h.state = 'failed'
            ))
        """)
        assert left == []


def run_machine(conn: psycopg.Connection[Any], how: settings) -> int:
    """Runs the machine on the database of a connection and returns how many calls it made.

    The clock of pgbaton becomes one that the machine moves.
    """
    conn.execute("""
        create table public.clock as select clock_timestamp() as instant;
        create or replace function pgbaton._now() returns timestamptz
        language sql volatile as $$ select c.instant from public.clock as c $$
    """)
    info = conn.info
    with psycopg.connect(info.dsn, password=info.password, autocommit=True) as second:

        class Connected(Machine):
            pass

        Connected.conn, Connected.other = conn, second
        run_state_machine_as_test(Connected, settings=how)
    return Connected.calls
