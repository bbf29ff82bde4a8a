"""Ten minutes under one old snapshot: what each load costs the server, minute by minute.

Each load is one session that enqueues, claims and completes at a steady pace. Its server CPU is
that of its own backend, so what else the machine does changes it less than it changes a rate.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]
ROUND = 128  # jobs that are enqueued at once
KEYS = 10_000


@dataclass
class Load:
    """jobs_per_s is the pace; batch is how many jobs one claim takes."""

    queue: str
    batch: int
    jobs_per_s: float
    has_keys: bool = False
    minutes: list[dict[str, float]] = field(default_factory=list)

    def keys(self, first: int) -> list[str] | None:
        if not self.has_keys:
            return None
        return [f"key-{number % KEYS}" for number in range(first, first + ROUND)]


def measured(dsn: str, loads: list[Load], minutes: int) -> None:
    """Fills in the minutes of the loads, which run beside each other."""
    with psycopg.connect(dsn, autocommit=True) as holder, holder.transaction():
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from pgbaton.span")
        failures: list[BaseException] = []
        threads = [
            threading.Thread(target=_guarded, args=(failures, dsn, load, minutes)) for load in loads
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]


def _guarded(failures: list[BaseException], dsn: str, load: Load, minutes: int) -> None:
    try:
        with psycopg.connect(dsn, autocommit=True) as conn:
            _run(conn, load, minutes)
    except BaseException as error:  # told by the caller, in its thread
        failures.append(error)


def _run(conn: Connection, load: Load, minutes: int) -> None:
    cpu = _cpu_of(conn.info.backend_pid)
    begin, jobs = time.monotonic(), 0
    for minute in range(1, minutes + 1):
        first_jobs, first_cpu, first_time = jobs, cpu(), time.monotonic()
        while time.monotonic() < begin + 60 * minute:
            _work(conn, load, jobs)
            jobs += ROUND
            time.sleep(max(0.0, begin + jobs / load.jobs_per_s - time.monotonic()))
        done = jobs - first_jobs
        load.minutes.append(
            {
                "jobs_per_s": round(done / (time.monotonic() - first_time)),
                "server_cpu_us_per_job": round((cpu() - first_cpu) * 1e6 / done, 1),
            }
        )


def _work(conn: Connection, load: Load, first: int) -> None:
    conn.execute(
        "select count(*) from pgbaton.enqueue_batch(%s, array_fill('{}'::jsonb, array[%s]), %s)",
        (load.queue, ROUND, load.keys(first)),
    )
    left = ROUND
    while left > 0:
        claimed = conn.execute(
            "select id, lease_token from pgbaton.claim_job_batch('w', %s, batch_size => %s)",
            ([load.queue], load.batch),
        ).fetchall()
        assert claimed, f"{left} jobs of {load.queue} are not claimable"
        ids, token = [row[0] for row in claimed], claimed[0][1]
        if len(ids) == 1:
            conn.execute("select pgbaton.complete_job(%s, lease_token => %s)", (ids[0], token))
        else:
            conn.execute("select count(*) from pgbaton.complete_jobs(%s, %s)", (ids, token))
        left -= len(ids)


def _cpu_of(process: int) -> Callable[[], float]:
    stat, hertz = Path(f"/proc/{process}/stat"), os.sysconf("SC_CLK_TCK")

    def seconds() -> float:
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / hertz

    return seconds
