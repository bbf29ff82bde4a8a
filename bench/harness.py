"""Producers and consumers as processes, over any of the queues, and what they cost the server."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg
from bench_server import Bench, wal_position
from queues.base import CHUNK, NOTHING, Claim, Connection, Consumer, Queue, QueueName, one

FORK = multiprocessing.get_context("fork")
PAD = "x" * 150
IDLE = 0.01  # seconds between two looks of a consumer that found nothing
TICK = 0.02  # seconds between two calls of a queue's background work
SMALL_DATABASE = 64 * 1024 * 1024
PRODUCERS = 4
CONSUMERS = 4
POINTS = 12  # of a curve


def payload(index: int, at: float = 0.0) -> str:
    """About 200 bytes that say which job it is and when it was sent."""
    return f'{{"i": {index}, "at": {at:.6f}, "pad": "{PAD}"}}'


class Fill(NamedTuple):
    """Jobs that stand in a queue before a run."""

    jobs: int
    keys: int | None = None  # job i has key i % keys
    batch: int = 100  # in which they will be claimed
    singly: bool = False
    first: int = 0  # index of the first one

    @property
    def queue(self) -> QueueName:
        return "plain" if self.keys is None else "ordered"

    def pieces(self) -> Iterator[Fill]:
        """The same jobs, so many at a time that they fit into memory."""
        size = CHUNK if self.singly else 20 * CHUNK
        for done in range(0, self.jobs, size):
            yield self._replace(first=self.first + done, jobs=min(size, self.jobs - done))

    def payloads(self) -> list[str]:
        return [payload(i) for i in range(self.first, self.first + self.jobs)]

    def key_names(self) -> list[str] | None:
        if self.keys is None:
            return None
        return [f"key-{i % self.keys}" for i in range(self.first, self.first + self.jobs)]


class Batch(NamedTuple):
    """A claim and its acknowledgement; times are those of time.perf_counter."""

    claiming: float
    claimed: float
    acking: float
    acked: float
    indexes: list[int]
    sent: list[float]


@dataclass
class Run:
    """One measured run; figures are per job where that makes sense."""

    jobs: int
    seconds: float
    batches: list[Batch] = field(default_factory=list)
    ack_times: list[float] = field(default_factory=list)  # if not those of the batches
    cpu_us: float | None = None  # these four if they were measured
    wal_bytes: float | None = None
    dead_tuples: int | None = None
    xids: float | None = None
    is_complete: bool = True  # all was done within the time given
    extra: dict[str, float] = field(default_factory=dict)
    curve: list[float] | None = None  # p95 latencies in ms over the time of a steady load

    def figures(self) -> dict[str, Any]:
        """What goes into the JSON file."""
        acks = self.ack_times or [
            batch.acked - batch.acking for batch in self.batches if batch.acked > batch.acking
        ]
        figures = {
            "jobs": self.jobs,
            "is_complete": self.is_complete,
            "seconds": round(self.seconds, 3),
            "jobs_per_s": round(self.jobs / self.seconds, 1),
            "claim_ms": percentiles(batch.claimed - batch.claiming for batch in self.batches),
            "ack_ms": percentiles(acks),
            "server_cpu_us_per_job": rounded(self.cpu_us, 2),
            "wal_bytes_per_job": rounded(self.wal_bytes, 1),
            "dead_tuples": self.dead_tuples,
            "xids_per_job": rounded(self.xids, 4),
            "latency_p95_ms_curve": self.curve,
            **{name: round(value, 3) for name, value in self.extra.items()},
        }
        return {name: value for name, value in figures.items() if value is not None}


def rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def percentiles(seconds: Iterable[float]) -> dict[str, float]:
    """p50, p95 and p99 in milliseconds; empty if there is nothing."""
    values = sorted(seconds)
    if not values:
        return {}
    return {
        f"p{share}": round(values[min(len(values) - 1, len(values) * share // 100)] * 1e3, 3)
        for share in (50, 95, 99)
    }


class Lab:
    """A server with each queue installed once, and a fresh copy of it for each run."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._sources: dict[tuple[str, object], str] = {}

    def dsn(self, database: str) -> str:
        return self.bench.server.dsn(dbname=database)

    def _admin(self, *statements: str) -> None:
        with self.bench.connect("postgres") as conn:
            for statement in statements:
                conn.execute(statement.encode())

    def _create(self, database: str, template: str) -> None:
        with self.bench.connect("postgres") as conn:
            size = one(conn, "select pg_database_size(%s)", (template,))
        strategy = "wal_log" if size < SMALL_DATABASE else "file_copy"  # whichever is faster
        self._admin(
            f'drop database if exists "{database}" with (force)',
            f'create database "{database}" template "{template}" strategy {strategy}',
        )

    def install(self, queue: Queue) -> None:
        self._create(f"base {queue.name}", "template0")
        queue.install(self.dsn(f"base {queue.name}"))

    def source(
        self, queue: Queue, what: object, prepare: Callable[[Connection], None] | None
    ) -> str:
        """A database of the queue that was prepared once, to be copied."""
        if prepare is None:
            return f"base {queue.name}"
        if (queue.name, what) not in self._sources:
            database = f"source {queue.name} {len(self._sources)}"
            self._create(database, f"base {queue.name}")
            with self.bench.connect(database) as conn:
                conn.execute("set synchronous_commit = off")
                prepare(conn)
                conn.execute("vacuum analyze")
            self._sources[queue.name, what] = database
        return self._sources[queue.name, what]

    def forget(self) -> None:
        """Drops the prepared databases."""
        self._admin(*(f'drop database "{name}" with (force)' for name in self._sources.values()))
        self._sources.clear()

    @contextmanager
    def fresh(
        self,
        queue: Queue,
        what: object = None,
        prepare: Callable[[Connection], None] | None = None,
    ) -> Iterator[str]:
        """The name of a database that is a copy of a prepared one, and goes afterwards."""
        self._create("run", self.source(queue, what, prepare))
        yield "run"
        self._admin("drop database run with (force)")

    @contextmanager
    def filled(self, queue: Queue, *fills: Fill) -> Iterator[str]:
        """The same with jobs in it."""
        what = tuple(
            fill if queue.fill_depends_on_batch else fill._replace(batch=0) for fill in fills
        )

        def prepare(conn: Connection) -> None:
            for fill in fills:
                enqueue_all(queue, conn, fill)

        with self.fresh(queue, what, prepare) as database:
            yield database

    def measure(self, database: str, work: Callable[[str], Run]) -> Run:
        """Runs work, whose connections are closed when it returns, and adds what it cost."""
        bench = self.bench
        with bench.connect("postgres") as conn:
            conn.execute("checkpoint")
            bench.wait_for_backends(database)
            wal, xid, ticks = wal_position(conn), next_xid(conn), bench.cpu_ticks()
            run = work(self.dsn(database))
            bench.wait_for_backends(database)
            ticks = bench.cpu_ticks() - ticks
            per_job = 1 / max(run.jobs, 1)
            run.cpu_us = ticks / os.sysconf("SC_CLK_TCK") * 1e6 * per_job
            run.wal_bytes = (wal_position(conn) - wal) * per_job
            run.xids = (next_xid(conn) - xid) * per_job
        with bench.connect(database) as conn:
            run.dead_tuples = dead_tuples(conn)
        return run


def dead_tuples(conn: Connection) -> int:
    return int(one(conn, "select coalesce(sum(n_dead_tup), 0) from pg_stat_user_tables"))


def next_xid(conn: Connection) -> int:
    return int(one(conn, "select pg_snapshot_xmax(pg_current_snapshot())::text"))


def enqueue_all(queue: Queue, conn: Connection, fill: Fill) -> None:
    for piece in fill.pieces():
        payloads, keys = piece.payloads(), piece.key_names()
        if not fill.singly:
            queue.fill(conn, payloads, keys, fill.batch)
            continue
        with conn.pipeline(), conn.transaction():
            for place in range(piece.jobs):
                queue.enqueue_one(conn, payloads[place], keys[place] if keys else None)


# Processes


class Team:
    """Processes that begin together. One that fails makes results() raise what it met."""

    def __init__(self) -> None:
        self._results: Any = FORK.SimpleQueue()
        self._processes: list[Any] = []
        self._works: list[Callable[..., Any]] = []

    def add(self, work: Callable[[Callable[[], float]], Any]) -> None:
        """work calls its argument when it is ready; it returns when all are, with the time."""
        self._works.append(work)

    def run(self) -> tuple[float, list[Any]]:
        """The start, and what each returned."""
        ready = FORK.Barrier(len(self._works) + 1)
        for place, work in enumerate(self._works):
            process = FORK.Process(target=self._one, args=(place, work, ready))
            process.start()
            self._processes.append(process)
        with suppress(threading.BrokenBarrierError):  # the process that broke it tells why
            ready.wait(60)
        started = time.perf_counter()
        results: dict[int, Any] = {}
        failures = []
        for _ in self._works:
            place, result, failure = self._results.get()
            results[place] = result
            if failure is not None:
                failures.append(failure)
        for process in self._processes:
            process.join()
        if failures:
            raise RuntimeError(failures[0])
        return started, [results[place] for place in sorted(results)]

    def _one(self, place: int, work: Callable[..., Any], ready: Any) -> None:
        def begin() -> float:
            ready.wait(60)
            return time.perf_counter()

        try:
            self._results.put((place, work(begin), None))
        except BaseException:
            ready.abort()
            self._results.put((place, None, traceback.format_exc()))


class Line:
    """What producers and consumers of a run know of each other."""

    def __init__(self, expected: int, producers: int = 0) -> None:
        self.enqueued = FORK.Value("q", expected)
        self.done = FORK.Value("q", 0)
        self.producing = FORK.Value("q", producers)

    @property
    def is_done(self) -> bool:
        return bool(self.producing.value == 0 and self.done.value >= self.enqueued.value)


def in_range(indexes: list[int], counted: range) -> list[int]:
    return [index for index in indexes if index in counted]


def add_to(counter: Any, amount: int) -> None:
    with counter.get_lock():
        counter.value += amount


def consumer(
    queue: Queue,
    dsn: str,
    name: QueueName,
    who: Consumer,
    batch: int,
    line: Line,
    limit: float,
    idle: float = 0.001,
    counted: range | None = None,
) -> Callable[[Callable[[], float]], list[Batch]]:
    """Claims and acknowledges until all is done (of the counted ones) or limit seconds are over."""

    def work(begin: Callable[[], float]) -> list[Batch]:
        batches = []
        with psycopg.connect(dsn, autocommit=True) as conn:
            deadline = begin() + limit
            while not line.is_done and (claiming := time.perf_counter()) < deadline:
                claim = queue.claim(conn, name, who, batch)
                claimed = time.perf_counter()
                if not claim.ids:
                    time.sleep(idle)
                    continue
                acking = time.perf_counter()
                queue.ack(conn, name, claim)
                acked = time.perf_counter()
                indexes = [job["i"] for job in claim.payloads]
                add_to(line.done, len(indexes if counted is None else in_range(indexes, counted)))
                sent = [job["at"] for job in claim.payloads]
                batches.append(Batch(claiming, claimed, acking, acked, indexes, sent))
        return batches

    return work


def consumer_in_one_call(
    queue: Queue,
    dsn: str,
    name: QueueName,
    who: Consumer,
    batch: int,
    line: Line,
    limit: float,
    idle: float = 0.001,
    counted: range | None = None,
) -> Callable[[Callable[[], float]], list[Batch]]:
    """As consumer; one call ends a batch and brings the next. It counts for both of them."""

    def work(begin: Callable[[], float]) -> list[Batch]:
        batches = []
        last, claiming, claimed = NOTHING, 0.0, 0.0
        with psycopg.connect(dsn, autocommit=True) as conn:
            deadline = begin() + limit
            while last.ids or not line.is_done:
                acking = time.perf_counter()
                if acking < deadline:
                    claim = queue.ack_and_claim(conn, name, who, batch, last)
                elif last.ids:
                    claim = NOTHING
                    queue.ack(conn, name, last)
                else:
                    break
                acked = time.perf_counter()
                if last.ids:
                    indexes = [job["i"] for job in last.payloads]
                    done = indexes if counted is None else in_range(indexes, counted)
                    add_to(line.done, len(done))
                    sent = [job["at"] for job in last.payloads]
                    batches.append(Batch(claiming, claimed, acking, acked, indexes, sent))
                elif not claim.ids:
                    time.sleep(idle)
                last, claiming, claimed = claim, acking, acked
        return batches

    return work


def producer(
    queue: Queue, dsn: str, indexes: Sequence[int], rate: float, keys: int | None, line: Line
) -> Callable[[Callable[[], float]], int]:
    """Enqueues one by one at a rate, and stops when the time for all of them is over."""

    def work(begin: Callable[[], float]) -> int:
        sent = 0
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                started = begin()
                deadline = started + len(indexes) / rate
                for place, index in enumerate(indexes):
                    ahead = started + place / rate - time.perf_counter()
                    if ahead > 0:
                        time.sleep(ahead)
                    elif time.perf_counter() > deadline:
                        break
                    key = None if keys is None else f"key-{index % keys}"
                    queue.enqueue_one(conn, payload(index, time.perf_counter()), key)
                    sent += 1
        finally:
            add_to(line.enqueued, sent)
            add_to(line.producing, -1)
        return sent

    return work


def ticking(
    tick: Callable[[Connection], None], dsn: str, line: Line, limit: float
) -> Callable[[Callable[[], float]], None]:
    def work(begin: Callable[[], float]) -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            deadline = begin() + limit
            while not line.is_done and time.perf_counter() < deadline:
                tick(conn)
                time.sleep(TICK)

    return work


def calling(
    call: Callable[[Connection], None], dsn: str, after: float
) -> Callable[[Callable[[], float]], None]:
    def work(begin: Callable[[], float]) -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            begin()
            time.sleep(after)
            call(conn)

    return work


def drain(
    queue: Queue,
    dsn: str,
    fill: Fill,
    consumers: int = CONSUMERS,
    limit: float = 1e9,
    most: int | None = None,
    others: int = 0,
    idle: float = 0.001,
) -> Run:
    """Consumers take from the queue until it is empty, for limit seconds or most jobs at most.

    others is the number of jobs that stand in the queue besides, with lower indexes; they are
    done too if a consumer gets them, but not waited for.
    """
    everything = range(fill.first - others, fill.first + fill.jobs)
    expected = everything[others:]
    line, team = Line(fill.jobs if most is None else most), Team()
    for index in range(consumers):
        who = Consumer(index, consumers)
        works = consumer_in_one_call if queue.in_one_call else consumer
        team.add(works(queue, dsn, fill.queue, who, fill.batch, line, limit, idle, expected))
    started, results = team.run()
    batches = [batch for result in results for batch in result]
    verify(queue, dsn, batches, everything)
    if fill.keys is not None:
        keys = fill.keys
        verify_order(queue, batches, lambda i: i % keys if i in expected else -1)
    ends = [(batch.acked, sum(i in expected for i in batch.indexes)) for batch in batches]
    done = sum(count for _, count in ends)
    last = max((end for end, count in ends if count), default=time.perf_counter())
    run = Run(done, last - started, batches)
    run.is_complete = done >= line.enqueued.value
    return run


def steady(
    queue: Queue,
    dsn: str,
    rate: int,
    seconds: float,
    keys: int | None = None,
    grace: float = 10.0,
    meanwhile: Callable[[Connection], None] | None = None,
) -> Run:
    """Producers at a rate, consumers beside them; latencies are from before the enqueue to the end
    of the acknowledgement. Consumers stop grace seconds after the producers at the latest.
    meanwhile is called once, half-way."""
    jobs = int(rate * seconds)
    line, team = Line(0, PRODUCERS), Team()
    name: QueueName = "plain" if keys is None else "ordered"
    for index in range(PRODUCERS):
        indexes = range(index, jobs, PRODUCERS)
        team.add(producer(queue, dsn, indexes, rate / PRODUCERS, keys, line))
    for index in range(CONSUMERS):
        who = Consumer(index, CONSUMERS)
        batch = 100 if queue.claims_batches else 1
        team.add(consumer(queue, dsn, name, who, batch, line, seconds + grace, IDLE))
    if (tick := queue.background()) is not None:
        team.add(ticking(tick, dsn, line, seconds + grace))
    if meanwhile is not None:
        team.add(calling(meanwhile, dsn, seconds / 2))
    started, results = team.run()
    sent = sum(results[:PRODUCERS])
    batches = [batch for result in results[PRODUCERS : PRODUCERS + CONSUMERS] for batch in result]
    with psycopg.connect(dsn, autocommit=True) as conn:
        left = queue.left(conn)
    done = verify_once(queue, batches)
    assert left is None or left == sent - done, f"{queue.name}: {left} left of {sent} - {done}"
    if keys is not None:
        number = keys
        verify_order(queue, batches, lambda i: i % number)
    run = Run(done, max(batch.acked for batch in batches) - started, batches)
    run.is_complete = done == sent
    times = percentiles(end - at for batch in batches for at in batch.sent for end in [batch.acked])
    run.extra = {"sent": sent, **{f"latency_{name}_ms": value for name, value in times.items()}}
    stretch = min(15.0, seconds / 3)
    for name_, begin in (("first", started), ("last", started + seconds - stretch)):
        latencies = [
            batch.acked - at
            for batch in batches
            for at in batch.sent
            if begin <= at < begin + stretch
        ]
        run.extra[f"latency_p95_ms_{name_}_stretch"] = percentiles(latencies).get("p95", 0.0)
    run.curve = curve_of(batches, started, seconds)
    return run


def curve_of(batches: list[Batch], started: float, seconds: float) -> list[float]:
    """The p95 latency in ms of what was sent in each twelfth of the time."""
    step = seconds / POINTS
    slices: list[list[float]] = [[] for _ in range(POINTS)]
    for batch in batches:
        for at in batch.sent:
            slices[min(POINTS - 1, max(0, int((at - started) / step)))].append(batch.acked - at)
    return [percentiles(latencies).get("p95", 0.0) for latencies in slices]


def ack_from_many(queue: Queue, dsn: str, jobs: int, connections: int) -> Callable[[str], Run]:
    """Claims batches of 100 (outside of what is measured) and gives the work that acknowledges
    them one by one: the jobs of a batch are dealt out to all connections."""
    claims: list[Claim] = []
    with psycopg.connect(dsn, autocommit=True) as conn:
        while sum(len(claim.ids) for claim in claims) < jobs:
            claims.append(queue.claim(conn, "plain", Consumer(0, 1), 100))
            assert claims[-1].ids, f"{queue.name}: nothing to claim"
        left = queue.left(conn)
    hands = [(claim, place) for claim in claims for place in range(len(claim.ids))]

    def acknowledger(index: int) -> Callable[[Callable[[], float]], list[tuple[float, float]]]:
        def work(begin: Callable[[], float]) -> list[tuple[float, float]]:
            times = []
            with psycopg.connect(dsn, autocommit=True) as conn:
                begin()
                for claim, place in hands[index::connections]:
                    started = time.perf_counter()
                    queue.ack_one(conn, claim, place)
                    times.append((started, time.perf_counter()))
            return times

        return work

    def measured(dsn: str) -> Run:
        team = Team()
        for index in range(connections):
            team.add(acknowledger(index))
        started, results = team.run()
        times = [pair for result in results for pair in result]
        with psycopg.connect(dsn, autocommit=True) as conn:
            assert left is not None
            now_left = queue.left(conn)
            assert now_left == left - len(hands), f"{queue.name}: {now_left} of {left} left"
        seconds = max(end for _, end in times) - started
        return Run(len(hands), seconds, ack_times=[end - begin for begin, end in times])

    return measured


def enqueue(
    dsn: str,
    call: Callable[[Connection, list[str]], None],
    chunk: int,
    clients: int,
    limit: float,
) -> Run:
    """Clients enqueue chunk jobs a call for limit seconds."""

    def client(index: int) -> Callable[[Callable[[], float]], list[tuple[float, float]]]:
        chunks = [
            [payload(index + clients * (n * chunk + k)) for k in range(chunk)] for n in range(8)
        ]

        def work(begin: Callable[[], float]) -> list[tuple[float, float]]:
            times: list[tuple[float, float]] = []
            with psycopg.connect(dsn, autocommit=True) as conn:
                deadline = begin() + limit
                while (started := time.perf_counter()) < deadline:
                    call(conn, chunks[len(times) % len(chunks)])
                    times.append((started, time.perf_counter()))
            return times

        return work

    team = Team()
    for index in range(clients):
        team.add(client(index))
    started, results = team.run()
    times = [pair for result in results for pair in result]
    run = Run(len(times) * chunk, max(end for _, end in times) - started)
    for name, value in percentiles(end - begin for begin, end in times).items():
        run.extra[f"call_{name}_ms"] = value
    return run


# Checks


def verify_once(queue: Queue, batches: list[Batch]) -> int:
    """No job was done twice; returns how many were done."""
    done = [index for batch in batches for index in batch.indexes]
    assert len(done) == len(set(done)), f"{queue.name}: jobs were done twice"
    return len(done)


def verify(queue: Queue, dsn: str, batches: list[Batch], enqueued: range) -> None:
    """What was done was enqueued, done once, and all that is not done is still there."""
    done = verify_once(queue, batches)
    assert all(index in enqueued for batch in batches for index in batch.indexes)
    with psycopg.connect(dsn, autocommit=True) as conn:
        left = queue.left(conn)
    assert left is None or left == len(enqueued) - done, f"{queue.name}: {left} left after {done}"


def verify_order(queue: Queue, batches: list[Batch], key_of: Callable[[int], int]) -> None:
    """Of a key one job at a time was out, and in the order of enqueue if that was promised."""
    if queue.order is None:
        return
    grain = 1 if queue.orders_within_call else CHUNK
    by_key: dict[int, list[tuple[float, float, int]]] = {}
    for batch in batches:
        for index in batch.indexes:
            by_key.setdefault(key_of(index), []).append((batch.claimed, batch.acking, index))
    for key, jobs in by_key.items():
        jobs.sort()
        for (_, acking, index), (claimed, _, following) in itertools.pairwise(jobs):
            assert claimed >= acking, f"{queue.name}: {index} and {following} of {key} together"
            assert queue.order != "strict" or following // grain >= index // grain, (
                f"{queue.name}: {following} after {index} of key {key}"
            )
