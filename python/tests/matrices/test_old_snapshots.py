"""Each call that writes after each other one, with a snapshot or a wait from before it.

A takes a snapshot, B commits f, A calls g (isolation levels above READ COMMITTED); or B calls f,
A calls g in one statement that may wait for B's commit (READ COMMITTED). Either g is done right or
it raises: 40001, or an error that says what is wrong. Then all rules of the tables hold, and what
is left drains to nothing, in order.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, LiteralString, cast

import psycopg
import pytest
from invariants import assert_sound
from proof import record
from sessions import Session
from writing_calls import DRAIN, LEFT_OUT, RECIPES, SCENE, calls, writing_functions

Cell = tuple[Any, ...]  # f, g, mode, policy and perhaps what A calls after g

# After these a key's jobs need not run in the order of their payloads, or have payloads of others.
REORDER = re.compile(
    "requeue|spark_commit|set_fifo|retry_job|act_on_jobs retry|run_schedule|made again|update_queue"
    "|fail|release|replace"
)
FINE = re.compile("40001|PB...|22...|2202E|55000|P0001")

ORPHANS: dict[str, LiteralString] = {
    "what lives belongs to a queue": """
        select s.lo, s.queue_id from pgbaton.span as s
        where s.queue_id not in (select q.id from pgbaton.queue as q)
    """,
    "a lane belongs to a queue, and a span to a lane": """
        select s.lo, s.lane_id from pgbaton.span as s
        where s.lane_id not in (
            select l.id from pgbaton.lane as l where l.queue_id = s.queue_id
        )
    """,
    "what is noted of queues is of queues that are there": """
        select t.name, t.queue_id from (
            select 'dedup' as name, queue_id from pgbaton.dedup
            -- One for who waits for a job goes with the next claim.
            union all select 'release', queue_id from pgbaton.baton_release where parent_id is null
            union all select 'rewind', coalesce(
                (select l.queue_id from pgbaton.lane as l where l.id = r.lane_id), 0
            ) from pgbaton.rewind as r
        ) as t
        where t.queue_id not in (select q.id from pgbaton.queue as q)
    """,
}


class Matrix:
    """A pair of sessions on a database of their own, and the cells that failed."""

    def __init__(self, db: Session, a: Session, b: Session) -> None:
        self.db, self.a, self.b = db, a, b
        self.number = 0
        self.failures: list[str] = []
        db.conn.execute(SCENE.encode())
        db.conn.execute(DRAIN.encode())

    def clear(self) -> None:
        """Forgets all jobs. Sequences go on: the sessions have drawn ids ahead."""
        self.db.rows("select public.clear()")

    def arrange(self, policy: str) -> dict[str, Any]:
        if self.number % 50 == 0:
            self.clear()
        if self.number % 500 == 0:
            self.db.rows("vacuum")
        self.number += 1
        name, _, rule = policy.partition(" ")
        queue = f"q{self.number}"
        return self.db.one("select public.scene(%s, %s, %s)", queue, name, rule != "continue")

    def run(
        self,
        f: tuple[str, str],
        g: tuple[str, str],
        mode: str,
        policy: str,
        then: tuple[str, str] | None = None,
    ) -> None:
        """One cell; what goes wrong is noted, so that one run shows all."""
        cell = f"{mode}, {policy}: {f[0]} / {g[0]}" + (f", {then[0]}" if then else "")
        scene = self.arrange(policy)
        try:
            if mode == "waits":
                self.one_waits(f, g, mode, scene)
            else:
                self.one_is_older(f, g, mode, scene, then)
            self.check(f[0], g[0] + (then[0] if then else ""), mode, policy, scene)
        except (AssertionError, psycopg.Error) as error:
            self.failures.append(f"{cell}: {str(error)[:300]}")
            for session in (self.a, self.b, self.db):
                session.rows("rollback")
            self.clear()

    def call(self, session: Session, call: tuple[str, str], scene: dict[str, Any], n: str) -> str:
        """Calls and returns the SQLSTATE, empty when all is well."""
        try:
            session.rows(cast(LiteralString, call[1]), **scene, n=n)
        except psycopg.Error as error:
            return self.judge(call[0], error)
        return ""

    def judge(self, call: str, error: psycopg.Error) -> str:
        assert FINE.fullmatch(error.sqlstate or ""), f"{call}: {error.sqlstate} {error}"
        return error.sqlstate or ""

    def one_is_older(
        self,
        f: tuple[str, str],
        g: tuple[str, str],
        mode: str,
        scene: dict[str, Any],
        then: tuple[str, str] | None = None,
    ) -> None:
        self.a.begin_with_snapshot(mode)
        self.call(self.b, f, scene, "5")
        state = self.call(self.a, g, scene, "6")
        if not state and then:
            state = self.call(self.a, then, scene, "7")
        try:
            self.a.rows("rollback" if state else "commit")
        except psycopg.Error as error:
            self.judge(f"commit of {g[0]}", error)

    def one_waits(
        self, f: tuple[str, str], g: tuple[str, str], mode: str, scene: dict[str, Any]
    ) -> None:
        self.b.begin()
        failed = self.call(self.b, f, scene, "5")
        waiting = self.a.start(cast(LiteralString, g[1]), **scene, n="6").until_settled()
        self.b.rows("rollback" if failed else "commit")
        error = waiting.future.exception(timeout=60)
        if error is not None:
            assert isinstance(error, psycopg.Error), error
            assert self.judge(g[0], error) != "40001", f"{g[0]} in READ COMMITTED: {error}"

    def claim_nothing_paused(self, queue: str) -> None:
        self.db.begin()
        try:
            claimed = self.db.rows(
                "select singleton_key from pgbaton.claim_job_batch('p', null, batch_size => 100)"
            )
            paused = self.db.rows("select singleton_key from pgbaton.paused_key")
            assert not set(claimed) & set(paused), f"of {paused} were claimed {claimed}"
            if self.db.rows("select from pgbaton.queue where name = %s and is_paused", queue):
                assert {key for (key,) in claimed} <= {None}, f"of a paused queue: {claimed}"
        finally:
            self.db.rollback()

    def check(self, f: str, g: str, mode: str, policy: str, scene: dict[str, Any]) -> None:
        assert_sound(self.db.conn)
        for rule, query in ORPHANS.items():
            broken = self.db.rows(query)
            assert not broken, f"{rule}: broken by {broken}"
        self.db.rows("select pgbaton.job_totals(max_age => '0')")
        self.claim_nothing_paused(scene["queue"])
        queues = [scene["queue"], scene["beside"]]
        done = self.db.one("call public.drain(%s, null)", queues)
        assert_sound(self.db.conn)
        left = self.db.rows("""
            select * from pgbaton.baton_release where queue_id not in (select id from pgbaton.queue)
        """)
        assert not left, f"notes of queues that are gone: {left}"
        if not policy.startswith("fifo") or REORDER.search(f) or REORDER.search(g):
            return
        by_key: dict[str, list[int]] = {}
        for key, payload in done:
            by_key.setdefault(key, []).append(payload)
        by_key.pop("", None)
        by_key.pop(cast(str, None), None)
        for key, payloads in by_key.items():
            assert payloads == sorted(payloads), f"key {key} ran in the order {payloads}"


MODES = ["repeatable read", "serializable", "waits"]
PARTS = 6  # of some 4,000 pairs each, so that none takes longer than it may
POLICIES = ["fifo", "fifo continue", "standard", "stately", "singleton", "exclusive", "short"]


def test_every_call_that_writes_has_a_recipe(db: Session) -> None:
    named = {name for name in RECIPES if name != "enqueue_inbox"}
    assert writing_functions(db.conn) == named | set(LEFT_OUT)


def cells(modes: list[str], policies: list[str]) -> list[Cell]:
    """All pairs but those after which the rules of the tables do not hold, as is meant."""
    found = [(f, g, m, p) for m in modes for p in policies for f in calls() for g in calls()]
    return [cell for cell in found if not breaks_a_rule(cell[0][0], cell[1][0], cell[3])]


def breaks_a_rule(f: str, g: str, policy: str) -> bool:
    """Keys that went on do not stop again, nor do jobs of a key that run side by side."""
    if "update_queue block" in (f, g):
        return policy == "fifo continue" or "update_queue continue" in (f, g)
    return policy != "fifo" and "claim" in f and g == "set_fifo_mode on"


def run_cells(matrix: Matrix, chosen: Sequence[Cell], name: str) -> None:
    for cell in chosen:
        matrix.run(*cell)
    print(f"{name}: {len(chosen)} pairs of calls, {len(matrix.failures)} failed")
    assert not matrix.failures, "\n" + "\n".join(matrix.failures[:40])


def with_a_second_call(cells: list[Cell], seed: str) -> list[Cell]:
    """A makes another call in its transaction: a claim as often as any other."""
    chance = random.Random(seed)
    claims = [call for call in calls() if call[0].startswith("claim")]

    def second(f: str, g: str, policy: str) -> tuple[str, str]:
        while True:
            call = chance.choice(chance.choice([claims, calls()]))
            if not any(breaks_a_rule(first, call[0], policy) for first in (f, g)):
                return call

    return [(*cell, second(cell[0][0], cell[1][0], cell[3])) for cell in cells]


def test_a_sample_of_all_pairs(matrix: Matrix) -> None:
    chosen = random.Random(15).sample(cells(MODES, POLICIES), 60)
    older = random.Random(16).sample(cells(MODES[:2], POLICIES), 30)
    run_cells(matrix, chosen + with_a_second_call(older, "a sample"), "a sample of old snapshots")


# They change the queue itself: what they lock stands before all that other calls lock.
CHANGES = re.compile("create_queue|drop_queue|update_queue|set_|pause_queue|grant|revoke")


@pytest.mark.parametrize("policy", ["fifo", pytest.param("singleton", marks=pytest.mark.proof)])
def test_all_pairs_of_calls_that_change_a_queue(matrix: Matrix, policy: str) -> None:
    """While one waits for the other."""
    chosen = [
        (f, g, m, p)
        for f, g, m, p in cells(["waits"], [policy])
        if CHANGES.match(f[0]) and CHANGES.match(g[0])
    ]
    run_cells(matrix, chosen, f"calls that change a queue, {policy}")


# Each was wrong once; the matrix found them and must go on to do so.
FOUND = [
    ("enqueue_job idle key", "enqueue_job idle key", "claim_job_batch of all", "fifo"),
    ("drop_queue forced", "enqueue_job idle key", None, "fifo"),
    ("drop_queue and made again", "enqueue_job idle key", None, "fifo"),
    ("set_fifo_mode on", "enqueue_job idle key", "enqueue_job idle key", "standard"),
    ("pause_key run", "complete_job", "claim_job_batch of all", "fifo"),
    ("resume_key running", "complete_job paused key", None, "fifo"),
    ("retry_job", "release_jobs twice", None, "stately"),
    ("fail_job for good", "update_queue continue", None, "fifo"),
]


@pytest.mark.parametrize("mode", MODES)
def test_pairs_that_were_wrong(matrix: Matrix, mode: str) -> None:
    named = {name: (name, statement) for name, statement in calls()}
    chosen: list[Cell] = [
        (named[f], named[g], mode, policy, named[then] if then else None)
        for f, g, then, policy in FOUND
    ]
    run_cells(matrix, chosen, "pairs that were wrong")


def run_all_pairs(matrix: Matrix, mode: str, part: int) -> None:
    """An hour for each mode, in a file of its own: two processes of tests share them."""
    chosen = cells([mode], ["fifo"])
    others = cells([mode], POLICIES[1:])
    chosen += random.Random(mode).sample(others, len(others) // 12)
    if mode != "waits":
        chosen += with_a_second_call(
            random.Random(mode).sample(cells([mode], POLICIES), 2000), mode
        )
    chosen = chosen[part::PARTS]
    run_cells(matrix, chosen, f"matrix of old snapshots, {mode}, part {part}")
    record(f"old_snapshots_{mode.replace(' ', '_')}_{part}", snapshot_pairs=len(chosen))
