"""Starts the server and processes of a free run, injects crashes, and hands over the history."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from checker import LIVE_AND_OPEN, History, Job, Policies, read_calls
from invariants import assert_sound
from psycopg.conninfo import make_conninfo

from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install

PARTS = Path(__file__).with_name("parts.py")
WORKERS, PRODUCERS = 4, 3
DRAIN_SECONDS = 60
# No fsync: processes are killed, the machine is not. A commit waits for its WAL to be written.
SETTINGS = {
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "log_min_messages": "error",
    "max_pred_locks_per_transaction": "1024",  # as docs/errors.md advises for SERIALIZABLE
}
JOBS = """
    select j.id, q.name, j.singleton_key, j.payload ->> 'uid', p.state::text, p.attempt, p.places,
        case when p.state = any (%s::pgbaton.job_state[]) then pgbaton.why_not_running(j.id) end
    from pgbaton.job as j
    inner join pgbaton.lane as l on l.id = j.lane_id
    inner join pgbaton.queue as q on q.id = l.queue_id
    left join lateral (
        select max(u.state) as state, max(u.attempt) as attempt, count(*) as places
        from (
            select s.state, s.attempt from pgbaton.span as s
            where s.lo > j.id - 64 and s.lo <= j.id and s.hi >= j.id
            union all
            select h.state, h.attempt from pgbaton.job_history as h
            where h.lo > j.id - 64 and h.lo <= j.id and h.hi >= j.id
        ) as u
    ) as p on true
    order by j.id
"""

# A row for each kind of thing that decides what a claim looks at.
UPKEEP = """
    select
        array(select to_json(s) from pgbaton.span as s) as spans,
        array(select to_json(r) from pgbaton.baton_release as r order by r.id) as released,
        array(select to_json(r) from pgbaton.rewind as r order by r.id) as rewinds,
        array(select to_json(w) from pgbaton.job_wait as w) as waits,
        array(select to_json(w) from pgbaton.watermark as w) as watermarks,
        pg_sequence_last_value('pgbaton.baton_release_id_seq') as last_released,
        pg_sequence_last_value('pgbaton.release_floor_seq') as floor,
        pg_snapshot_xmin(pg_current_snapshot())::text as xmin
"""


@dataclass
class Run:
    """What a run left: its history, how often what was killed, and its deadlocks."""

    history: History
    crashes: Counter[str] = field(default_factory=Counter)
    deadlocks: str = ""

    def figures(self) -> dict[str, int]:
        return {
            "histories_checked": 1,
            "calls_checked": len(self.history.calls),
            "crashes_injected": self.crashes.total(),
        }


class Controller:
    def __init__(self, server: Server, folder: Path, seed: int, level: str | None) -> None:
        self.server, self.folder, self.seed, self.level = server, folder, seed, level
        self.dice = random.Random(f"{seed}/controller")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.lives: Counter[str] = Counter()
        self.crashes: Counter[str] = Counter()

    # Processes ------------------------------------------------------------------------------------

    def start(self, part: str, name: str) -> None:
        command = [sys.executable, str(PARTS), part, name, str(self.seed), str(self.folder)]
        command += [self.level] if self.level else []
        with (self.folder / "stderr").open("ab") as stderr:
            self.processes[name] = subprocess.Popen(command, stderr=stderr)

    def start_worker(self, number: int) -> None:
        self.lives[str(number)] += 1
        self.start("worker", f"worker {number} life {self.lives[str(number)]}")

    def start_all(self) -> None:
        for number in range(WORKERS):
            self.start_worker(number)
        for number in range(PRODUCERS):
            self.start("producer", f"producer {number}")
        self.start("operator", "operator")
        self.start("keeper", "keeper")
        self.start("probe", "probe")

    def check_alive(self) -> None:
        for name, process in self.processes.items():
            if process.poll() not in (None, 0):
                said = (self.folder / "stderr").read_text(errors="replace")
                raise AssertionError(f"{name} ended with {process.returncode}: {said[-2000:]}")

    # Crashes --------------------------------------------------------------------------------------

    def kill_worker(self) -> None:
        name = self.dice.choice([n for n in self.processes if n.startswith("worker")])
        process = self.processes.pop(name)
        process.kill()
        process.wait()
        self.start_worker(int(name.split()[1]))

    def backends(self) -> list[int]:
        with psycopg.connect(self.server.dsn(), autocommit=True) as conn:
            rows = conn.execute(
                "select pid from pg_stat_activity where backend_type = 'client backend'"
                " and application_name ~ '^(worker|producer|operator|keeper)'"
                " order by application_name"
            ).fetchall()
        return [row[0] for row in rows]

    def kill_backend(self) -> None:
        os.kill(self.dice.choice(self.backends()), signal.SIGKILL)

    def cut_connection(self) -> None:
        pid = self.dice.choice(self.backends())
        with psycopg.connect(self.server.dsn(), autocommit=True) as conn:
            conn.execute("select pg_terminate_backend(%s)", [pid])

    def restart_server(self) -> None:
        """As `pg_ctl stop -m immediate`, which is a SIGQUIT to the postmaster, and a start."""
        pid = int((self.server.data / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGQUIT)
        while self.server.is_running():
            time.sleep(0.02)
        self.server.start()
        self.tell_where()

    def tell_where(self) -> None:
        new = self.folder / "dsn.new"
        new.write_text(self.server.dsn())
        new.rename(self.folder / "dsn")

    # The run --------------------------------------------------------------------------------------

    def inject(self, until: float) -> None:
        acts: list[Callable[[], None]] = [
            self.kill_worker,
            self.cut_connection,
            self.kill_backend,
            self.kill_worker,
            self.restart_server,
            self.cut_connection,
        ]
        line: list[Callable[[], None]] = []
        while True:
            time.sleep(min(self.dice.uniform(1, 4), max(0, until - time.time())))
            if time.time() >= until:
                return
            self.check_alive()
            if not line:
                line = self.dice.sample(acts, len(acts))
            act = line.pop()
            try:
                act()
            except (psycopg.OperationalError, IndexError):
                continue  # the server is still coming up from the last crash
            self.crashes[act.__name__] += 1

    def drain(self) -> None:
        """Producers and the operator stop; workers go on until nothing is left that can run."""
        (self.folder / "stop").touch()
        for name in [n for n in self.processes if n.startswith(("producer", "operator", "keeper"))]:
            self.processes.pop(name).wait(timeout=DRAIN_SECONDS)
        give_up = time.time() + DRAIN_SECONDS
        with psycopg.connect(self.server.dsn(), autocommit=True) as conn:
            while time.time() < give_up and self.is_work_left(conn):
                self.check_alive()
                time.sleep(0.1)
            (self.folder / "abandon").touch()
            for process in self.processes.values():
                process.wait(timeout=DRAIN_SECONDS)
            if self.is_work_left(conn):
                self.keep_upkeep(conn)
            conn.execute("select pgbaton.run_maintenance()")

    def keep_upkeep(self, conn: psycopg.Connection[Any]) -> None:
        """What the upkeep goes by, beside the history: to find out why jobs are left."""
        row = conn.execute(UPKEEP).fetchone()
        (self.folder / "left.json").write_text(json.dumps(row, indent=1))

    @staticmethod
    def is_work_left(conn: psycopg.Connection[Any]) -> bool:
        row = conn.execute("""
            select exists (
                select from pgbaton.span as s where s.state <> 'failed' and not (
                    s.state = 'waiting' and exists (
                        select from pgbaton.span as h where h.queue_id = s.queue_id
                            and h.held_key = s.singleton_key and h.state = 'failed'
                    )
                )
            )
        """).fetchone()
        return bool(row and row[0])

    def result(self) -> Run:
        with psycopg.connect(self.server.dsn(), autocommit=True) as conn:
            assert_sound(conn)
            conn.execute("set jit = off")
            rows = conn.execute(JOBS, [list(LIVE_AND_OPEN)]).fetchall()
        (self.folder / "jobs.json").write_text(json.dumps(rows))
        return Run(kept_history(self.folder), self.crashes, deadlocks_in(self.server))

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


def deadlocks_in(server: Server) -> str:
    """Each with who waited for whom, and with what statements."""
    log = (server.home / "server.log").read_text(errors="replace")
    found = re.findall(
        r"ERROR:  deadlock detected\n(?:.* (?:DETAIL|CONTEXT): .*\n|\t.*\n|.* HINT: .*\n)*", log
    )
    return "".join(found)


def free_run(
    seconds: float,
    seed: int,
    *,
    level: str | None = None,
    with_crashes: bool = True,
    keep: Path | None = None,
    install_into: Callable[[str], None] = lambda dsn: install(dsn),
) -> Run:
    """Runs everything for so many seconds and a drain. The server is gone afterwards.

    level: the isolation level of all transactions; None is of each by chance.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pgbaton-history-") as place,
        temporary_server(settings=SETTINGS) as server,
    ):
        folder = Path(place)
        controller = Controller(server, folder, seed, level)
        try:
            install_into(make_conninfo(server.dsn()))
            make_queues(server.dsn())
            controller.tell_where()
            controller.start_all()
            until = time.time() + seconds
            if with_crashes:
                controller.inject(until)
            else:
                time.sleep(seconds)
            controller.drain()
            return controller.result()
        finally:
            controller.stop()
            if keep:
                shutil.copytree(folder, keep, dirs_exist_ok=True)
                shutil.copy(server.home / "server.log", keep)


def kept_history(folder: Path) -> History:
    """The history that a run left in a folder."""
    jobs = [Job(*row) for row in json.loads((folder / "jobs.json").read_text())]
    return History(read_calls(sorted(folder.glob("*.jsonl"))), jobs)


def make_queues(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        for queue, policy, on_exhausted in (
            ("block", "fifo", "block"),
            ("continue", "fifo", "continue"),
            ("singleton", "singleton", "block"),
            ("standard", "standard", "block"),
            ("temp", "standard", "block"),
            ("gate", "standard", "block"),
            ("shared", "singleton", "block"),
        ):
            conn.execute(
                "select pgbaton.create_queue(%s, %s::text::pgbaton.queue_policy,"
                " %s::text::pgbaton.on_exhausted, max_attempts => 4, retry_delay => '100 ms',"
                " retry_backoff => false, lease => '2 s')",
                [queue, policy, on_exhausted],
            )
        conn.execute(
            "select pgbaton.set_queue_limits("
            "'gate', max_running => 6, rate_count => 40, rate_interval => '1 s')"
        )
        conn.execute(
            "select pgbaton.set_queue_limits("
            "'shared', key_limit => 2, key_rate_count => 5, key_rate_interval => '0.5 s')"
        )
        conn.execute("create role narrowed login in role pgbaton_producer, pgbaton_worker")
        conn.execute("grant pgbaton_monitor to narrowed")
        conn.execute(
            "select pgbaton.grant_queue('narrowed', q, a)"
            " from unnest(%s::text[]) as q cross join"
            " unnest('{enqueue,work,monitor}'::text[]) as a",
            [list(Policies().narrowed)],
        )
