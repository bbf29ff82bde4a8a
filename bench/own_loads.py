"""Loads for pgbaton alone, and the table that its bulk enqueue is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import psycopg
from harness import Batch, Fill, Lab, Run, drain, enqueue_all, payload, steady
from queues.base import Connection, Consumer, Queue, QueueName, one
from run import PAYLOAD, small_keys

CLAIMS = 50  # of 10 jobs each
STEADY = 1000  # jobs a second
OLD_DAYS = 30

PLAIN_TABLE = """
create table plain_job (like pgbaton.job including indexes);
alter table plain_job
    alter id add generated always as identity,
    alter created_at set default now(),
    alter day set default current_date,
    alter lane_id set default 1;
"""


def make_plain_table(conn: Connection) -> None:
    """A table with the columns and indexes of pgbaton.job, not partitioned."""
    conn.execute(PLAIN_TABLE)


def copy(conn: Connection, payloads: list[str]) -> None:
    with conn.cursor() as cursor, cursor.copy("copy plain_job (payload) from stdin") as rows:
        for text in payloads:
            rows.write_row((text,))


def count_plain(conn: Connection) -> int:
    return int(one(conn, "select count(*) from plain_job"))


def enqueue_from_sql(conn: Connection, jobs: int, options: str = "") -> None:
    """Bulk enqueue of payloads made by the server, a chunk a call."""
    for first in range(0, jobs, 10_000):
        count = min(10_000, jobs - first)
        conn.execute(
            f"select count(*) from pgbaton.enqueue_batch('plain',"
            f" array(select {PAYLOAD} from generate_series(1, {count}) as i){options})".encode()
        )


class Beside(NamedTuple):
    """Claims with something beside them that the worker may not take, against claims without."""

    crowd: Callable[[Connection], None]
    few: Callable[[Connection], None]  # enqueues a thousand claimable jobs
    queue: str = "plain"
    tags: tuple[str, ...] = ()


class Loads(NamedTuple):
    """Runs the loads; jobs and seconds scale a number."""

    lab: Lab
    queue: Queue
    runs: int
    jobs: Callable[[int], int]
    seconds: Callable[[float], float]
    is_large: bool

    def all(self) -> Iterator[tuple[str, Callable[[], Run]]]:
        """The name of each workload and what makes a run of it, in turns."""
        for name, beside in self._besides().items():
            for _ in range(self.runs):
                for kind in ("without", "with"):
                    yield f"{name}_{kind}", partial(self._claim_beside, name, beside, kind)
            self.lab.forget()
        for _ in range(self.runs):
            yield "blocked_keys", self._blocked_keys
        self.lab.forget()
        for load in (self._retention, self._open_producer):
            for _ in range(self.runs):
                for kind in ("without", "with"):
                    yield f"{load.__name__[1:]}_{kind}", partial(load, kind)
            self.lab.forget()

    # Claims beside a crowd

    def _besides(self) -> dict[str, Beside]:
        many = self.jobs(1_000_000 if self.is_large else 200_000)
        scheduled = self.jobs(10_000_000 if self.is_large else 1_000_000)
        few = partial(enqueue_from_sql, jobs=1000)
        return {
            "lanes": Beside(
                partial(self._other_lanes, jobs=many // 200),
                partial(enqueue_from_sql, jobs=1000, options=", tags => '{mine}'"),
                tags=("mine",),
            ),
            "dead_letters": Beside(partial(self._dead_letters, jobs=self.jobs(100_000)), few),
            "scheduled": Beside(
                partial(enqueue_from_sql, jobs=scheduled, options=", run_at => now() + '30 days'"),
                few,
            ),
            "hot_key_waiting": Beside(
                partial(self._held_key, jobs=many), small_keys, queue="ordered"
            ),
        }

    def _other_lanes(self, conn: Connection, jobs: int) -> None:
        for lane in range(200):
            enqueue_from_sql(conn, jobs, f", tags => '{{other-{lane}}}'")

    def _dead_letters(self, conn: Connection, jobs: int) -> None:
        enqueue_from_sql(conn, jobs)
        failed = 0
        while count := self._fail(conn, "plain", 1000):
            failed += count
        assert failed == jobs

    def _fail(self, conn: Connection, name: QueueName, most: int) -> int:
        """Claims jobs and sends them to the dead letters; returns how many."""
        claim = self.queue.claim(conn, name, Consumer(0, 1), most)
        if claim.ids:
            verdicts = conn.execute(
                "select verdict from pgbaton.fail_jobs(%s, %s, %s, false)",
                (claim.ids, ["no"] * len(claim.ids), claim.detail),
            ).fetchall()
            assert [verdict for (verdict,) in verdicts] == ["ok"] * len(claim.ids)
        return len(claim.ids)

    def _held_key(self, conn: Connection, jobs: int) -> None:
        fill = Fill(jobs, keys=1)
        enqueue_all(self.queue, conn, fill)
        assert len(self.queue.claim(conn, "ordered", Consumer(0, 1), 10).ids) == 1

    def _claim_beside(self, name: str, beside: Beside, kind: str) -> Run:
        def prepare(conn: Connection) -> None:
            if kind == "with":
                beside.crowd(conn)
            beside.few(conn)

        with self.lab.fresh(self.queue, (name, kind), prepare) as database:
            return self.lab.measure(database, partial(self._claims, beside=beside))

    def _claims(self, dsn: str, beside: Beside) -> Run:
        batches = []
        with psycopg.connect(dsn, autocommit=True) as conn:
            started = time.perf_counter()
            for _ in range(CLAIMS):
                claiming = time.perf_counter()
                rows = conn.execute(
                    "select id from pgbaton.claim_job_batch('w', %s, tags => %s, batch_size => 10)",
                    ([beside.queue], list(beside.tags)),
                ).fetchall()
                claimed = time.perf_counter()
                assert len(rows) == 10
                batches.append(Batch(claiming, claimed, claimed, claimed, [], []))
        return Run(10 * CLAIMS, time.perf_counter() - started, batches)

    # Others

    def _blocked_keys(self) -> Run:
        """One key in twenty is blocked by a job that failed."""
        keys = min(10_000, self.jobs(10_000))
        fill, blocked = Fill(10 * keys, keys), keys // 20

        def prepare(conn: Connection) -> None:
            enqueue_all(self.queue, conn, fill)
            assert self._fail(conn, "ordered", blocked) == blocked

        free = 10 * (keys - blocked)
        with self.lab.fresh(self.queue, "blocked", prepare) as database:
            run = self.lab.measure(
                database, lambda dsn: drain(self.queue, dsn, fill, limit=60, most=free)
            )
        assert run.jobs == free, f"{run.jobs} of {free} jobs were done"
        return run

    def _retention(self, kind: str) -> Run:
        """A steady load, during which maintenance drops an old day, or not."""
        jobs = self.jobs(200_000)

        def prepare(conn: Connection) -> None:
            now = one(conn, "select pg_get_functiondef('pgbaton._now()'::regprocedure)")
            conn.execute(
                f"create or replace function pgbaton._now() returns timestamptz language sql"
                f" volatile as $$ select clock_timestamp() - interval '{OLD_DAYS} days' $$".encode()
            )
            conn.execute("select pgbaton.run_maintenance()")
            enqueue_from_sql(conn, jobs)
            while (claim := self.queue.claim(conn, "plain", Consumer(0, 1), 1000)).ids:
                self.queue.ack(conn, "plain", claim)
            conn.execute(now)

        seconds, meanwhile = self.seconds(10), drop_old_days if kind == "with" else None
        with self.lab.fresh(self.queue, "old day", prepare) as database:
            with self.lab.bench.connect(database) as conn:
                assert old_jobs(conn) == jobs
            run = self.lab.measure(
                database,
                lambda dsn: steady(self.queue, dsn, STEADY, seconds, meanwhile=meanwhile),
            )
            with self.lab.bench.connect(database) as conn:
                assert old_jobs(conn) == (0 if meanwhile else jobs), "the day was not dropped"
        return run

    def _open_producer(self, kind: str) -> Run:
        """The backlog of one key is drained, beside an open transaction that enqueues for it."""
        fill = Fill(self.jobs(4000), keys=1, batch=10)
        with (
            self.lab.filled(self.queue, fill) as database,
            self.lab.bench.connect(database) as holder,
        ):
            if kind == "with":
                holder.execute("begin")
                self.queue.enqueue_one(holder, payload(fill.jobs), "key-0")
            run = drain(self.queue, self.lab.dsn(database), fill, limit=60)
            assert run.is_complete, "the backlog stood still"
            if kind == "with":
                holder.execute("commit")
                claim = self.queue.claim(holder, "ordered", Consumer(0, 1), 10)
                assert [job["i"] for job in claim.payloads] == [fill.jobs]
        return run


def old_jobs(conn: Connection) -> int:
    return int(
        one(conn, f"select count(*) from pgbaton.job where day < current_date - {OLD_DAYS - 2}")
    )


def drop_old_days(conn: Connection) -> None:
    """Maintenance that gets no lock in 200 ms rests for ten minutes: no rest here."""
    for _ in range(20):
        conn.execute("select pgbaton.run_maintenance()")
        if old_jobs(conn) == 0:
            return
        conn.execute("delete from pgbaton.watermark where kind = 'retention'")
        time.sleep(0.1)
