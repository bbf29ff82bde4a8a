"""The processes of a free run: producers, workers, an operator and a probe.

Run by controller.py as `parts.py PART NAME SEED FOLDER [LEVEL]`; all transactions have the
isolation level, if one is given. Every random choice of a process comes
from its own generator, seeded by the seed of the run and its name.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

from checker import NARROWED_PROCESSES
from recorder import Caller, Lost, Refused

KEYS = {
    "block": [f"key {n}" for n in range(8)],
    "continue": [f"key {n}" for n in range(8)],
    "singleton": [f"key {n}" for n in range(4)],
    "standard": [None],
    "gate": [None],  # with limits, see controller.py
    "shared": [f"key {n}" for n in range(3)],
}
QUEUES = tuple(KEYS)
# A queue that is dropped, made again, put in order and out of it meanwhile.
TEMP = "temp"
KEYS[TEMP] = [f"key {n}" for n in range(4)]
# What a role with grants may work on; see controller.py, which makes it.
NARROWED = ("block", "standard")
LEVELS = ["read committed"] * 4 + ["repeatable read"] * 2 + ["serializable"]
BACKLOG = 1_000  # jobs; producers wait above it


class Producer:
    """Enqueues one by one, in batches and in transactions that stay open, fail or roll back."""

    def __init__(self, caller: Caller, dice: random.Random) -> None:
        self.caller, self.dice = caller, dice
        self.made = 0
        self.queues = (*NARROWED, "continue") if caller.user else (*QUEUES, TEMP)

    def run(self) -> None:
        act = self.dice.choices
        while not self.caller.is_over():
            step = act([self.one, self.batch, self.list, self.transaction], [5, 3, 2, 2])[0]
            with suppress(Lost, Refused):
                step()
                self.wait_for_workers()
            self.caller.drop() if self.caller.tx else None
            time.sleep(self.dice.uniform(0, 0.03))

    def jobs(self, queue: str, most: int, key: str | None = None) -> list[tuple[str, str | None]]:
        found = []
        for _ in range(self.dice.randint(1, most)):
            self.made += 1
            uid = f"{self.caller.recorder.process}/{self.made}"
            found.append((uid, key or self.dice.choice(KEYS[queue])))
        return found

    def one(self, queue: str | None = None, key: str | None = None) -> None:
        queue = queue or self.dice.choice(self.queues)
        (uid, key), *_ = self.jobs(queue, 1, key)
        delay = self.dice.choice([None, None, None, None, 0.1, 0.3])
        # With a dedup_id a lost answer is no risk: the call is made again until one is answered.
        dedup_id = self.dice.choice([None, uid])
        while True:
            try:
                self.caller.call(
                    "enqueue_job",
                    "select pgbaton.enqueue_job(%s, jsonb_build_object('uid', %s::text),"
                    " singleton_key => %s, delay => make_interval(secs => %s),"
                    " dedup_id => %s, on_duplicate => %s)",
                    [queue, uid, key, delay, dedup_id, "skip" if dedup_id else "error"],
                    {"queue": queue, "jobs": [(uid, key)]},
                )
                return
            except Lost:
                if dedup_id is None or self.caller.is_over("abandon"):
                    raise

    def batch(self, queue: str | None = None, key: str | None = None) -> None:
        queue = queue or self.dice.choice(self.queues)
        jobs = self.jobs(queue, 12, key)
        keys = None if KEYS[queue] == [None] else [key for _, key in jobs]
        self.caller.call(
            "enqueue_batch",
            "select pgbaton.enqueue_batch(%s, array(select jsonb_build_object('uid', u.uid)"
            " from unnest(%s::text[]) with ordinality as u (uid, n) order by u.n), %s)",
            [queue, [uid for uid, _ in jobs], keys],
            {"queue": queue, "jobs": jobs},
        )

    def list(self, queue: str | None = None, key: str | None = None) -> None:
        queue = queue or self.dice.choice(self.queues)
        if queue == "standard" and self.dice.random() < 0.6:
            self.flow(queue)
            return
        jobs = self.jobs(queue, 6, key)
        self.caller.call(
            "enqueue_jobs",
            "select pgbaton.enqueue_jobs(%s, (select jsonb_agg(jsonb_build_object('payload',"
            " jsonb_build_object('uid', u.uid), 'singleton_key', u.key) order by u.n)"
            " from unnest(%s::text[], %s::text[]) with ordinality as u (uid, key, n)))",
            [queue, [uid for uid, _ in jobs], [key for _, key in jobs]],
            {"queue": queue, "jobs": jobs},
        )

    def flow(self, queue: str) -> None:
        """Jobs each of which waits for some of those before it, whatever becomes of these."""
        jobs = self.jobs(queue, 8)
        places = [
            sorted(self.dice.sample(range(n), self.dice.randint(0, n))) for n in range(len(jobs))
        ]
        self.caller.call(
            "enqueue_jobs",
            "select pgbaton.enqueue_jobs(%s, (select jsonb_agg(jsonb_build_object('payload',"
            " jsonb_build_object('uid', u.uid)) || case when u.after = '[]' then '{}' else"
            " jsonb_build_object('on_failed', 'run', 'after_ordinals', u.after) end order by u.n)"
            " from unnest(%s::text[], %s::jsonb[]) with ordinality as u (uid, after, n)))",
            [
                queue,
                [uid for uid, _ in jobs],
                [json.dumps([place + 1 for place in before]) for before in places],
            ],
            {
                "queue": queue,
                "jobs": jobs,
                "after": {
                    jobs[n][0]: [jobs[place][0] for place in before]
                    for n, before in enumerate(places)
                },
            },
        )

    def transaction(self) -> None:
        # One key: two transactions that enqueue for several, call by call, may meet in a circle.
        queue = self.dice.choice(self.queues)
        key = self.dice.choice(KEYS[queue])
        self.caller.begin(self.caller.level())
        for _ in range(self.dice.randint(1, 3)):
            self.dice.choice([self.one, self.batch, self.list])(queue, key)
        time.sleep(self.dice.choice([0, 0, 0.05, 0.3, 1.0]))
        self.caller.end(self.dice.choice(["commit", "commit", "rollback"]))

    def wait_for_workers(self) -> None:
        if self.made % 10:
            return
        query = "select sum(total)::bigint from pgbaton.queue_stats()"
        while (
            not self.caller.is_over()
            and (self.caller.call("queue_stats", query, None)[0][0] or 0) > BACKLOG
        ):
            time.sleep(0.2)


class Worker:
    """Claims, and completes, fails, gives back, forgets or finishes too late."""

    def __init__(self, caller: Caller, dice: random.Random) -> None:
        self.caller, self.dice = caller, dice
        self.name = caller.recorder.process
        self.late: list[tuple[float, list[int], int]] = []
        self.queues = NARROWED if caller.user else QUEUES

    def run(self) -> None:
        while not self.caller.is_over("abandon"):
            with suppress(Lost, Refused):
                if not self.turn():
                    if self.dice.random() < 0.3 and not self.caller.is_over():
                        self.sleep()
                    else:
                        time.sleep(self.dice.uniform(0, 0.03))
            self.caller.drop() if self.caller.tx else None

    def turn(self) -> bool:
        self.finish_late()
        rows = self.claim([], None)
        if not rows:
            return False
        while rows and self.dice.random() < 0.25 and not self.caller.is_over():
            rows = self.claim([row[0] for row in rows], rows[0][4])
        if not rows:
            return True
        token = rows[0][4]
        ids = [row[0] for row in rows]
        if self.dice.random() < 0.1:
            self.batch("start_jobs", ids, token)
        if self.dice.random() < 0.3:
            self.stop_what_was_cancelled(token, ids)
        self.finish(ids, token, is_draining=self.caller.is_over())
        return True

    def claim(self, done: list[int], token: int | None) -> list[list[Any]]:
        """Claims, and completes what is done in the same call."""
        queues = self.choose_queues()
        size = self.dice.choice([1, 3, 10, 40])
        lease = self.dice.choice([1.0, 3.0])
        args = {"queues": queues, "size": size}
        if token is not None:
            return self.caller.complete_and_claim(self.name, done, token, lease, args)
        return self.caller.call(
            "claim_job_batch",
            "select id, queue, singleton_key, attempt, lease_token,"
            " extract(epoch from lease_until)::float8"
            " from pgbaton.claim_job_batch(%s, %s, batch_size => %s,"
            " lease => make_interval(secs => %s))",
            [self.name, queues, size, lease],
            args,
        )

    def choose_queues(self) -> list[str]:
        if self.dice.random() < 0.1:  # a queue that may not be there, or not be ours
            return ["continue" if self.caller.user else TEMP]
        every = list(self.queues)
        return self.dice.choice([every, every, [self.dice.choice(self.queues)]])

    def sleep(self) -> None:
        """As a worker does: lies down, looks again when it is told or when the wait is over."""
        query = (
            "select channel, extract(epoch from wait)::float8 from pgbaton.wait_for_jobs(%s, %s)"
        )
        wait = [self.name, list(self.queues)]
        [[channel, _]] = self.caller.call("wait_for_jobs", query, wait)
        self.caller.call("listen", f'listen "{channel}"', None)
        [[_, seconds]] = self.caller.call("wait_for_jobs", query, wait)
        self.caller.sleep(channel, min(seconds, 3.0))

    def finish(self, ids: list[int], token: int, is_draining: bool) -> None:
        fate = self.dice.random()
        if fate < 0.30 or is_draining:
            self.batch("complete_jobs", ids, token)
        elif fate < 0.45:
            self.claimed("complete_claim", token)
        elif fate < 0.65:
            for job in ids:
                with suppress(Refused):
                    self.single("complete_job", job, token)
        elif fate < 0.82:
            self.mix(ids, token)
        elif fate < 0.90:
            self.within_transaction(ids, token)
        elif fate < 0.95:
            self.late.append((time.time() + self.dice.uniform(0.5, 5), ids, token))
        elif fate < 0.98:
            self.extend(ids, token)
            time.sleep(self.dice.uniform(0, 0.2))
            self.batch("complete_jobs", ids, token)
        # else forgotten: the lease ends

    def mix(self, ids: list[int], token: int) -> None:
        self.dice.shuffle(ids)
        cut = self.dice.randint(0, len(ids))
        for job in ids[:cut]:
            with suppress(Refused):
                fate = self.dice.random()
                if fate < 0.5:
                    self.single("complete_job", job, token)
                elif fate < 0.9:
                    self.fail(job, token, fate < 0.8)
                else:
                    self.single("stop_job", job, token)
        rest = ids[cut:]
        if rest:
            self.batch(
                self.dice.choice(["complete_jobs", "fail_jobs", "release_jobs"]), rest, token
            )

    def within_transaction(self, ids: list[int], token: int) -> None:
        self.caller.begin(self.caller.level())
        self.batch("complete_jobs", ids[: self.dice.randint(1, len(ids))], token)
        time.sleep(self.dice.choice([0, 0.05, 0.2]))
        self.caller.end(self.dice.choice(["commit", "commit", "rollback"]))

    def finish_late(self) -> None:
        for late in [w for w in self.late if w[0] < time.time()]:
            self.late.remove(late)
            if self.dice.random() < 0.5:
                self.batch("complete_jobs", late[1], late[2])
            else:
                self.claimed("complete_claim", late[2])

    def stop_what_was_cancelled(self, token: int, ids: list[int]) -> None:
        rows = self.caller.call(
            "worker_heartbeat", "select pgbaton.worker_heartbeat(%s)", [self.name]
        )
        for job in rows[0][0]:
            if job in ids:
                was_executing = self.dice.random() < 0.7
                with suppress(Refused):
                    self.caller.call(
                        "acknowledge_cancellation",
                        "select pgbaton.acknowledge_cancellation(%s, %s, %s)",
                        [job, was_executing, token],
                        {"job": job, "token": token, "was_executing": was_executing},
                    )

    def extend(self, ids: list[int], token: int) -> None:
        lease = self.dice.choice([0.5, 2.0])
        self.caller.call(
            "extend_leases",
            "select job_id, verdict from pgbaton.extend_leases(%s, %s,"
            " make_interval(secs => %s)) order by ordinal",
            [ids, token, lease],
            {"jobs": ids, "token": token, "lease": lease},
        )

    def batch(self, name: str, ids: list[int], token: int) -> None:
        query = {
            "start_jobs": "start_jobs(i.ids, i.token)",
            "complete_jobs": "complete_jobs(i.ids, i.token)",
            "release_jobs": "release_jobs(i.ids, i.token)",
            "fail_jobs": "fail_jobs(i.ids, array_fill('no'::text, array[cardinality(i.ids)]),"
            " i.token)",
        }[name]
        self.caller.call(
            name,
            "select v.job_id, v.verdict from (select %s::bigint[] as ids, %s::bigint as token)"
            f" as i cross join lateral pgbaton.{query} as v order by v.ordinal",
            [ids, token],
            {"jobs": ids, "token": token},
        )

    def single(self, name: str, job: int, token: int) -> None:
        self.caller.call(
            name,
            f"select pgbaton.{name}(%s, lease_token => %s)",
            [job, token],
            {"job": job, "token": token},
        )

    def fail(self, job: int, token: int, retryable: bool) -> None:
        self.caller.call(
            "fail_job",
            "select pgbaton.fail_job(%s, 'no', %s, %s)::text",
            [job, token, retryable],
            {"job": job, "token": token},
        )

    def claimed(self, name: str, token: int) -> None:
        self.caller.call(name, f"select pgbaton.{name}(%s)", [token], {"token": token})


class Operator:
    """Resolves dead letters; now and then cancels, pauses, takes jobs away, runs the upkeep."""

    def __init__(self, caller: Caller, dice: random.Random) -> None:
        self.caller, self.dice = caller, dice

    def run(self) -> None:
        steps = [self.resolve, self.cancel, self.pause, self.upkeep, self.take_away, self.look]
        while not self.caller.is_over():
            with suppress(Lost, Refused):
                self.dice.choices(steps, [10, 4, 1, 4, 1, 2])[0]()
            time.sleep(self.dice.uniform(0, 0.1))
        self.resume()

    def resolve(self) -> None:
        query = "select id, queue from pgbaton.list_dead_jobs(max_rows => 20)"
        for job, queue in self.caller.call("list_dead_jobs", query, None):
            name = self.dice.choice(["retry_job", "retry_job", "skip_job", "delete_job"])
            with suppress(Refused):
                self.caller.call(name, f"select pgbaton.{name}(%s, %s)", [queue, job], {"job": job})

    def cancel(self) -> None:
        query = "select id from pgbaton.live_jobs order by random() limit 3"
        jobs = [row[0] for row in self.caller.call("live_jobs", query, None)]
        self.caller.call(
            "cancel_jobs",
            "select cancelled_job_ids from pgbaton.cancel_jobs(job_ids => %s)",
            [jobs],
            {"jobs": jobs},
        )

    def pause(self) -> None:
        queue = self.dice.choice(["block", "continue", "singleton"])
        key = self.dice.choice(KEYS[queue])
        args = {"queue": queue, "key": key}
        self.caller.call("pause_key", "select pgbaton.pause_key(%s, %s)", [queue, key], args)
        time.sleep(self.dice.uniform(0, 0.5))
        self.caller.call("resume_key", "select pgbaton.resume_key(%s, %s)", [queue, key], args)

    def resume(self) -> None:
        """A key that stayed paused, since the server went down in between."""
        for queue in ("block", "continue", "singleton"):
            for key in KEYS[queue]:
                while not self.caller.is_over("abandon"):
                    with suppress(Lost, Refused):
                        self.caller.call(
                            "resume_key", "select pgbaton.resume_key(%s, %s)", [queue, key]
                        )
                        break

    def upkeep(self) -> None:
        if self.dice.random() < 0.7:
            self.caller.call("run_maintenance", "select pgbaton.run_maintenance()", None)
        else:
            self.caller.call("recover_stale_jobs", "select pgbaton.recover_stale_jobs()", None)

    def take_away(self) -> None:
        choice = self.dice.random()
        if choice < 0.6:
            query = "select worker_id from pgbaton.worker order by random() limit 1"
            for (worker,) in self.caller.call("worker", query, None):
                self.caller.call(
                    "mark_worker_unresponsive",
                    "select pgbaton.mark_worker_unresponsive(%s)",
                    [worker],
                    {"worker": worker},
                )
        elif choice < 0.8:
            queue = self.dice.choice(["block", "continue"])
            key = self.dice.choice(KEYS[queue])
            self.caller.call(
                "reset_fifo_key",
                "select pgbaton.reset_fifo_key(%s, %s, 'test')",
                [queue, key],
                {"queue": queue, "key": key},
            )
        else:
            self.caller.call("reset_running_jobs", "select pgbaton.reset_running_jobs()", None)

    def look(self) -> None:
        self.caller.call(
            "blocked_keys", "select count(*) from pgbaton.blocked_keys(null, true)", None
        )
        self.caller.call("fifo_stats", "select count(*) from pgbaton.fifo_stats()", None)


class Keeper:
    """Makes, changes and drops a queue while others use it, and changes settings of the others."""

    def __init__(self, caller: Caller, dice: random.Random) -> None:
        self.caller, self.dice = caller, dice

    def run(self) -> None:
        steps = [self.make, self.drop, self.order, self.change, self.pause, self.limit]
        while not self.caller.is_over():
            with suppress(Lost, Refused):
                self.dice.choices(steps, [3, 1, 4, 3, 1, 2])[0]()
            time.sleep(self.dice.uniform(0, 0.4))
        for step in (self.resume, self.make, self.open):
            while not self.caller.is_over("abandon"):
                with suppress(Lost):
                    try:
                        step()
                    except Refused as refused:
                        if refused.sqlstate == "40001":
                            continue
                    break

    def about(self, name: str, call: LiteralString, queue: str = TEMP) -> None:
        self.caller.call(name, f"select pgbaton.{name}({call})", [queue], {"queue": queue})

    def make(self) -> None:
        self.about("create_queue", "%s, max_attempts => 2, retry_delay => '0', lease => '2 s'")

    def drop(self) -> None:
        self.about("drop_queue", self.dice.choice(["%s", "%s, true"]))

    def order(self) -> None:
        enabled = self.dice.choice(["true", "false"])
        self.about("set_fifo_mode", f"%s, {enabled}, {self.dice.choice(['true', 'false'])}")

    def change(self) -> None:
        change = self.dice.choice(
            ["lease => '3 s'", "max_attempts => 3", "on_exhausted => 'continue'",
             "on_exhausted => 'block'", "policy => 'standard'", "policy => 'fifo'"]
        )  # fmt: skip
        self.about("update_queue", f"%s, {change}")
        self.about("update_queue", "%s, max_lanes => 10000", self.dice.choice(QUEUES))

    def limit(self) -> None:
        limits = self.dice.choice(
            ["max_running => 1", "max_running => 9", "rate_count => 3, rate_interval => '0.1 s'"]
        )
        self.about("set_queue_limits", self.dice.choice(["%s", f"%s, {limits}"]))

    def open(self) -> None:
        self.about("set_queue_limits", "%s")

    def pause(self) -> None:
        self.about("pause_queue", "%s", "standard")
        time.sleep(self.dice.uniform(0, 0.3))
        self.about("resume_queue", "%s", "standard")

    def resume(self) -> None:
        self.about("resume_queue", "%s", "standard")


# Jobs that nothing but a claim is missing to run, or that run under an ended lease. Left out:
# queues with limits, queues and keys that are paused, keys that a job holds which waits for its
# time or failed, and those of which a producer or a deciding worker is still open. Those that wait
# for jobs, or were set aside, have no time to which they wait.
PROBE = """
    with line as (
        select q.name as queue, q.policy, q.is_limited, s.* from pgbaton.span as s
        inner join pgbaton.queue as q on q.id = s.queue_id and not q.is_paused
    )
    select l.queue, l.singleton_key, l.lo, l.attempt,
        case
            when l.ready then 'ready'
            when l.state in ('active', 'cancelling') then 'lease ended'
            when exists (
                select from pgbaton.job_wait as w where w.child_id between l.lo and l.hi
            ) then 'what it waits for has ended'
            when l.state = 'waiting' then 'nobody holds the key'
            when l.run_at is null then 'set aside'
            else 'due'
        end
    from line as l
    where (
        (l.ready and not l.is_limited)
        or (l.state in ('active', 'cancelling') and l.lease_until < clock_timestamp())
        or (l.state in ('pending', 'retry', 'unknown_retry') and not coalesce(l.ready, false)
            and coalesce(l.run_at < clock_timestamp(), true)
            and not exists (
                select from pgbaton.paused_key as p
                where p.queue_id = l.queue_id and p.singleton_key = l.singleton_key
            ))
        or (l.state = 'pending' and l.run_at = 'infinity' and exists (
            select from pgbaton.job_wait as w
            where w.child_id between l.lo and l.hi and w.level = 0 and not exists (
                select from pgbaton.span as p
                where pgbaton._covers(p.lo, p.hi, w.parent_id)
            )
        ))
        or (l.state = 'waiting' and not l.is_limited and not exists (
            select from pgbaton.span as h
            where h.queue_id = l.queue_id and h.held_key = l.singleton_key
        ) and not exists (
            select from pg_locks as k
            where k.locktype = 'advisory' and k.granted and k.objsubid = 2
                and k.classid::bigint in (pgbaton._lock_class(), pgbaton._lock_class() + 2)
                and k.objid::bigint = pgbaton._stripe(l.queue_id, l.singleton_key)
        ) and not exists (
            select from pgbaton.span as w
            where w.queue_id = l.queue_id and w.singleton_key = l.singleton_key
                and w.state = 'waiting' and w.key_position < l.key_position
        ))
    )
    order by l.lo
    limit 500
"""


class Probe:
    """Looks four times a second which jobs lie about."""

    def __init__(self, caller: Caller, _: random.Random) -> None:
        self.caller = caller

    def run(self) -> None:
        while not self.caller.is_over("abandon"):
            with suppress(Lost, Refused):
                self.caller.call("probe", PROBE, None)
            time.sleep(0.25)


PARTS: dict[str, Callable[[Caller, random.Random], Any]] = {
    "producer": Producer,
    "worker": Worker,
    "operator": Operator,
    "keeper": Keeper,
    "probe": Probe,
}


def main(part: str, name: str, seed: str, folder: str, level: str | None = None) -> None:
    caller = Caller(Path(folder), name)
    dice = random.Random(f"{seed}/{name}")
    if part != "probe":
        caller.level = lambda: level or dice.choice(LEVELS)
    if name.startswith(NARROWED_PROCESSES):
        caller.user = "narrowed"
    PARTS[part](caller, dice).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
