"""Any sequence of calls against a small model of jobs: state, order, key holder, attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
import pytest
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

QUEUES = {"standard": None, "block": "block", "continue": "continue"}
LEASE, RETRY_DELAY, MAX_ATTEMPTS = 60, 10, 2
NOON = 1_900_000_000  # the clock of each example starts here, in seconds since 1970
CLAIMABLE = ("pending", "retry", "unknown_retry")
FINAL = ("completed", "stopped", "unscheduled", "resolved")
UNKNOWN_ID = 1_000_000


@dataclass
class Job:
    id: int
    queue: str
    key: str | None
    place: int  # in the order of enqueue
    run_at: int | None
    state: str = "pending"
    ready: bool = True
    holds: bool = False
    attempt: int = 0
    extra: int = 0
    token: int | None = None
    lease_until: int | None = None
    worker: str | None = None

    def seen(self) -> tuple[Any, ...]:
        """What the database must say of it."""
        if self.state in FINAL:
            return ("failed" if self.state == "resolved" else self.state, self.attempt)
        return (
            self.state,
            self.attempt,
            self.ready,
            self.key if self.holds else None,
            self.token,
            self.lease_until,
            self.run_at,
        )


class Model:
    """The rules of the queue in plain words."""

    def __init__(self) -> None:
        self.now = NOON
        self.jobs: dict[int, Job] = {}

    def live(self, queue: str, key: str) -> list[Job]:
        return [
            j
            for j in self.jobs.values()
            if (j.queue, j.key) == (queue, key) and j.state not in FINAL
        ]

    def is_idle(self, queue: str, key: str) -> bool:
        return not any(j.holds or j.state == "waiting" for j in self.live(queue, key))

    def is_due(self, job: Job) -> bool:
        return job.run_at is None or job.run_at <= self.now

    def enqueue(self, job_id: int, queue: str, key: str | None, run_at: int | None) -> None:
        job = Job(job_id, queue, key, len(self.jobs), run_at)
        if key is not None:
            job.holds = self.is_idle(queue, key)
            job.state = "pending" if job.holds else "waiting"
        job.ready = job.state == "pending" and self.is_due(job)
        self.jobs[job_id] = job

    def pass_on(self, job: Job) -> None:
        if not job.holds:
            return
        job.holds = False
        waiting = [j for j in self.live(job.queue, job.key or "") if j.state == "waiting"]
        if waiting:
            heir = min(waiting, key=lambda j: j.place)
            heir.holds = True
            heir.state = "retry" if heir.attempt else "pending"
            heir.ready = self.is_due(heir)

    def end(self, job: Job, state: str) -> None:
        job.state, job.token, job.ready = state, None, False
        self.pass_on(job)

    def lose_lease(self, job: Job) -> None:
        job.token = job.lease_until = None

    def fail(self, job: Job, retryable: bool) -> None:
        self.lose_lease(job)
        if retryable and job.attempt < MAX_ATTEMPTS + job.extra:
            job.state, job.run_at, job.ready = "retry", self.now + RETRY_DELAY, False
            return
        job.state, job.run_at, job.ready = "failed", None, False
        if job.queue == "continue":
            self.pass_on(job)

    def give_back(self, job: Job, state: str, run_in: int = 0) -> None:
        self.lose_lease(job)
        job.state, job.run_at = state, self.now + run_in
        job.ready = run_in == 0

    def recover(self, jobs: list[Job]) -> None:
        for job in jobs:
            if job.attempt >= MAX_ATTEMPTS + job.extra:
                self.fail(job, retryable=False)
            else:
                self.give_back(job, "unknown_retry")

    def resolve(self, job: Job, call: str) -> None:
        """What an operator does to a job that does not run."""
        if call != "retry":
            has_run = job.attempt > 0 or job.state in ("retry", "unknown_retry")
            left = "stopped" if has_run else "unscheduled"
            self.end(job, "resolved" if job.state == "failed" else left)
            return
        job.extra += 1
        job.run_at = self.now
        if job.key and not job.holds:
            job.holds = self.is_idle(job.queue, job.key)
        job.ready = job.holds or job.key is None
        job.state = "retry" if job.ready else "waiting"

    def ended_leases(self) -> list[Job]:
        return [j for j in self.active() if (j.lease_until or 0) < self.now]

    def active(self) -> list[Job]:
        return [j for j in self.jobs.values() if j.state == "active"]

    def tend(self) -> None:
        """What a claim and the maintenance do by the way."""
        for job in self.jobs.values():
            if job.state in CLAIMABLE and self.is_due(job) and (job.holds or job.key is None):
                job.ready = True
        self.recover(self.ended_leases())

    def verdict(self, job_id: int, token: int | None, states: tuple[str, ...]) -> str:
        job = self.jobs.get(job_id)
        if job is None:
            return "not_found"
        if job.state in FINAL:
            return "invalid_state"
        is_ours = job.token == token if token is not None else not job.holds
        if job.state in states and is_ours:
            return "ok"
        if token is not None and job.token != token:
            return "lease_lost"
        if token is None and job.holds and job.state != "failed":
            return "lease_lost"
        return "invalid_state"


picks = st.integers(0, 1_000)
key_names = st.sampled_from(["a", "b", "c"])
some_jobs = st.lists(picks, min_size=1, max_size=6)
workers = st.sampled_from(["ann", "bob"])


class Machine(RuleBasedStateMachine):
    conn: psycopg.Connection[Any]

    # What the rules share -----------------------------------------------------------------------

    def rows(self, query: LiteralString, *args: Any) -> list[tuple[Any, ...]]:
        try:
            found = self.conn.execute(query, args).fetchall()
        except psycopg.Error as error:
            note(f"{query} {args} -> {error.sqlstate}")
            raise
        note(f"{query} {args} -> {found}")
        return found

    def one(self, query: LiteralString, *args: Any) -> Any:
        return self.rows(query, *args)[0][0]

    def batch(
        self,
        query: LiteralString,
        ids: list[int],
        token: int | None,
        states: tuple[str, ...],
        *args: Any,
    ) -> list[Job]:
        """Makes a call of a worker, checks its verdicts and returns the jobs that it moves."""
        expected = [self.model.verdict(i, token, states) for i in ids]
        assert [row[0] for row in self.rows(query, ids, token, *args)] == expected
        return [self.model.jobs[i] for i, said in zip(ids, expected, strict=True) if said == "ok"]

    # Producers ----------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        empty(self.conn)
        self.conn.execute("update public.clock set instant = to_timestamp(%s)", [NOON])
        for name, on_exhausted in QUEUES.items():
            self.conn.execute(
                "select pgbaton.create_queue(%s, %s::text::pgbaton.queue_policy,"
                " coalesce(%s, 'block')::pgbaton.on_exhausted, max_attempts => %s,"
                " retry_delay => make_interval(secs => %s), retry_backoff => false,"
                " lease => make_interval(secs => %s))",
                [
                    name,
                    "fifo" if on_exhausted else "standard",
                    on_exhausted,
                    MAX_ATTEMPTS,
                    RETRY_DELAY,
                    LEASE,
                ],
            )
        self.model = Model()
        self.tokens: list[int] = []

    @rule(
        queue=st.sampled_from([*QUEUES]),
        key=key_names,
        delay=st.sampled_from([None, None, None, 0, 5, 30]),
    )
    def enqueue(self, queue: str, key: str, delay: int | None) -> None:
        name = key if QUEUES[queue] else None
        job = self.one(
            "select pgbaton.enqueue_job(%s, singleton_key => %s,"
            " delay => make_interval(secs => %s))",
            queue,
            name,
            delay,
        )
        run_at = None if delay is None else self.model.now + delay
        self.model.enqueue(job, queue, name, run_at)

    @rule(queue=st.sampled_from([*QUEUES]), names=st.lists(key_names, min_size=1, max_size=12))
    def enqueue_batch(self, queue: str, names: list[str]) -> None:
        keys = names if QUEUES[queue] else None
        found = self.rows(
            "select pgbaton.enqueue_batch(%s, array_fill('{}'::jsonb, array[%s]), %s)",
            queue,
            len(names),
            keys,
        )
        for (job,), name in zip(found, names, strict=True):
            self.model.enqueue(job, queue, name if keys else None, None)

    # Workers ------------------------------------------------------------------------------------

    @rule(
        worker=workers,
        queues=st.one_of(st.none(), st.lists(st.sampled_from([*QUEUES]), min_size=1, unique=True)),
        size=st.sampled_from([1, 2, 3, 10]),
    )
    def claim(self, worker: str, queues: list[str] | None, size: int) -> None:
        rows = self.rows(
            "select id, attempt, singleton_key, lease_token"
            " from pgbaton.claim_job_batch(%s, %s, batch_size => %s)",
            worker,
            queues,
            size,
        )
        self.model.tend()
        open_to_all = [
            j for j in self.model.jobs.values() if j.ready and (queues is None or j.queue in queues)
        ]
        claimed = [self.model.jobs[row[0]] for row in rows]
        assert len(claimed) == min(size, len(open_to_all))
        assert {j.id for j in claimed} <= {j.id for j in open_to_all}
        self.check_order(claimed, open_to_all)
        for job, (_, attempt, key, token) in zip(claimed, rows, strict=True):
            job.state, job.ready, job.worker = "active", False, worker
            job.attempt += 1
            job.token, job.lease_until = token, self.model.now + LEASE
            assert (job.attempt, job.key) == (attempt, key)
        assert len({row[3] for row in rows}) <= 1
        self.tokens += sorted({row[3] for row in rows})

    def check_order(self, claimed: list[Job], open_to_all: list[Job]) -> None:
        """First come, first served among new jobs of a queue; and the head of each key."""
        for queue in QUEUES:
            new = [
                j
                for j in open_to_all
                if j.queue == queue and j.state == "pending" and not j.run_at and not j.key
            ]
            taken = [j for j in claimed if j in new]
            assert [j.place for j in taken] == [j.place for j in new[: len(taken)]]
        for job in claimed:
            if job.queue == "block":
                first = min(self.model.live("block", job.key or ""), key=lambda j: j.place)
                assert job is first

    @precondition(lambda self: self.tokens)
    @rule(
        call=st.sampled_from(
            ["start", "extend", "complete", "complete", "fail", "fail", "release", "complete_claim"]
        ),
        which=picks,
        picked=some_jobs,
        is_stranger=st.sampled_from([False, False, False, True]),
        is_final=st.booleans(),
    )
    def work(
        self, call: str, which: int, picked: list[int], is_stranger: bool, is_final: bool
    ) -> None:
        active = self.model.active()
        tokens = self.tokens if is_stranger else sorted({j.token or 0 for j in active})
        if not tokens:
            return
        token: int | None = tokens[which % len(tokens)]
        ids = [j.id for j in active if j.token == token]
        if is_stranger:
            ids = [*self.model.jobs, UNKNOWN_ID]
            token = None if is_final and call in ("complete", "fail") else token
        ids = list(dict.fromkeys(ids[n % len(ids)] for n in picked))
        getattr(self, f"_{call}")(ids, token, is_final)

    def _start(self, ids: list[int], token: int, _: bool) -> None:
        query = "select verdict from pgbaton.start_jobs(%s, %s) order by ordinal"
        self.batch(query, ids, token, ("active",))

    def _extend(self, ids: list[int], token: int, _: bool) -> None:
        query = "select verdict from pgbaton.extend_leases(%s, %s) order by ordinal"
        for job in self.batch(query, ids, token, ("active",)):
            job.lease_until = self.model.now + LEASE

    def _complete(self, ids: list[int], token: int | None, _: bool) -> None:
        query = "select verdict from pgbaton.complete_jobs(%s, %s) order by ordinal"
        for job in self.batch(query, ids, token, ("active", "unknown_retry")):
            self.model.end(job, "completed")

    def _complete_claim(self, _: list[int], token: int, __: bool) -> None:
        ours = [j for j in self.model.active() if j.token == token]
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

    def _release(self, ids: list[int], token: int, is_later: bool) -> None:
        run_in = 20 if is_later else 0
        query: LiteralString = """
            select verdict from pgbaton.release_jobs(%s, %s, make_interval(secs => %s))
            order by ordinal
        """
        for job in self.batch(query, ids, token, ("active",), run_in):
            self.model.give_back(job, "retry", run_in)
            job.attempt -= 1

    # Operators ----------------------------------------------------------------------------------

    @precondition(lambda self: self.model.jobs)
    @rule(
        call=st.sampled_from(["retry", "skip", "delete"]),
        picked=picks,
        is_sensible=st.sampled_from([True, True, True, False]),
    )
    def operate(self, call: str, picked: int, is_sensible: bool) -> None:
        accepted = ("failed", "waiting", *CLAIMABLE) if call == "delete" else ("failed",)
        jobs = [j for j in self.model.jobs.values() if j.state in accepted or not is_sensible]
        if not jobs:
            return
        job = jobs[picked % len(jobs)]
        query: LiteralString = {
            "retry": "select pgbaton.retry_job(%s, %s)",
            "skip": "select pgbaton.skip_job(%s, %s)",
            "delete": "select pgbaton.delete_job(%s, %s)",
        }[call]
        if job.state in accepted:
            self.rows(query, job.queue, job.id)
            self.model.resolve(job, call)
        else:
            with pytest.raises(psycopg.DatabaseError) as error:
                self.rows(query, job.queue, job.id)
            assert error.value.sqlstate == "PB003"

    @rule(
        call=st.sampled_from(["recover", "give up", "maintain", "others", "time", "time", "time"]),
        worker=workers,
        seconds=st.sampled_from([1, 6, 11, 61, 600]),
    )
    def keep_up(self, call: str, worker: str, seconds: int) -> None:
        if call == "recover":
            lost = self.model.ended_leases()
            assert self.one("select pgbaton.recover_stale_jobs()") == len(lost)
            self.model.recover(lost)
        elif call == "give up":
            lost = [j for j in self.model.active() if j.worker == worker]
            assert self.one("select pgbaton.mark_worker_unresponsive(%s)", worker) == len(lost)
            self.model.recover(lost)
        elif call == "maintain":
            self.rows("select pgbaton.run_maintenance()")
            self.model.tend()
        elif call == "others":
            # Jobs of others draw positions, so that watermarks move.
            self.rows(
                "select setval('pgbaton.position_seq', last_value + 64 * 300)"
                " from pgbaton.position_seq"
            )
        else:
            self.model.now += seconds
            self.conn.execute(
                "update public.clock set instant = to_timestamp(%s)", [self.model.now]
            )

    # Checks -------------------------------------------------------------------------------------

    @invariant()
    def the_database_is_as_the_model(self) -> None:
        live = self.conn.execute("""
            select g.id, s.state::text, s.attempt, s.ready, s.held_key, s.lease_token,
                extract(epoch from s.lease_until), extract(epoch from s.run_at)
            from pgbaton.span as s cross join lateral generate_series(s.lo, s.hi) as g (id)
        """).fetchall()
        final = self.conn.execute("""
            select g.id, h.state::text, h.attempt
            from pgbaton.job_history as h cross join lateral generate_series(h.lo, h.hi) as g (id)
        """).fetchall()
        assert len(live) + len(final) == len(self.model.jobs)
        seen = {row[0]: row[1:] for row in [*live, *final]}
        expected = {j.id: j.seen() for j in self.model.jobs.values()}
        assert {i: (seen.get(i), e) for i, e in expected.items() if seen.get(i) != e} == {}

    @invariant()
    def all_that_is_ready_can_be_found(self) -> None:
        assert self.conn.execute(UNREACHABLE).fetchall() == []

    def teardown(self) -> None:
        """Whatever happened: all jobs run to their end but failed ones and those behind them."""
        assert_sound(self.conn)
        self.conn.execute("update public.clock set instant = instant + interval '1 hour'")
        while token := self.one("select max(lease_token) from pgbaton.claim_job_batch('last')"):
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


@pytest.mark.timeout(600)  # a failure is made as short as possible first, for five minutes at most
def test_any_sequence_of_calls(shared: psycopg.Connection[Any]) -> None:
    shared.execute("""
        create table public.clock as select clock_timestamp() as instant;
        create or replace function pgbaton._now() returns timestamptz
        language sql volatile as $$ select c.instant from public.clock as c $$
    """)

    class Connected(Machine):
        conn = shared

    run_state_machine_as_test(
        Connected, settings=settings(max_examples=120, stateful_step_count=50)
    )
