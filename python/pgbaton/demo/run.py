"""Runs the demo: enqueue, drain, a failure that blocks one aircraft, repair, verification."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from pgbaton.client import Client
from pgbaton.demo import Stuck, _flights
from pgbaton.demo._checks import Check, Legs, check_history, check_reports, waits, walk
from pgbaton.demo._crew import BATCH_SIZES, PATIENCE_SECONDS, Crew
from pgbaton.demo._flights import pipeline
from pgbaton.demo._java import java_for_spark
from pgbaton.demo._worker import AIRCRAFT, Leg, Report
from pgbaton.embedded import Server
from pgbaton.install import install
from pgbaton.models import BlockedKey
from pgbaton.spark import Enqueued, read_history

DATABASE = "pgbaton_demo"
POLL_SECONDS = 0.5
REPORTED = ["state", "singleton_key", "payload", "result"]
console = Console(highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Drain:
    """How the queues were worked off."""

    jobs_before_repair: int
    seconds_before_repair: float
    blocked: list[BlockedKey]
    reports: list[Report]

    @property
    def rate(self) -> float:
        return self.jobs_before_repair / self.seconds_before_repair


def run(sample: int | None, folder: Path) -> bool:
    """Whether all checks passed. The report of the pipeline is written to the folder."""
    dsn = fresh_database()
    with (
        java_for_spark() as java,
        _flights.spark_session() as spark,
        pipeline().flights_csv() as csv,
        psycopg.connect(dsn, autocommit=True) as connection,
        Client(connection=connection) as client,
    ):
        console.print(f"Spark {spark.version} on {java}, database {DATABASE}", markup=False)
        legs = pipeline().read_legs(spark, csv, sample).cache()
        expected = _flights.legs_by_aircraft(legs)
        busiest = most_legs(expected)
        broken = Leg(busiest, max(1, expected[busiest] // 4))

        filled = fill_queues(client, dsn, legs, sum(expected.values()))
        drain = drain_queues(client, dsn, broken, sum(expected.values()))
        history = read_history(spark, dsn).select(*REPORTED).cache()
        flown = _flights.busiest_aircraft(history)
        report = pipeline().daily_delays(history).cache()
        pipeline().write_report(report, folder)
        found = walk(connection)
        print_summary(filled, drain, waits(connection), found.violations, flown)
        passed = print_checks(
            [
                check_block(drain, broken, expected),
                *check_reports(drain.reports, len(BATCH_SIZES), sum(expected.values())),
                *check_history(connection, found, expected),
                Check(
                    "Spark finds the same aircraft with most legs in the history",
                    flown[:2] == (busiest, expected[busiest]),
                    f"{flown[0]} with {flown[1]} legs",
                ),
                check_report(spark, folder, sum(expected.values())),
            ]
        )
        print_next_steps(connection.info.dsn, folder)  # which has no password
        return passed


def fresh_database() -> str:
    """An empty database with pgbaton, in the server of PGBATON_DSN or the embedded one."""
    maintenance = os.environ.get("PGBATON_DSN") or embedded_dsn()
    name = sql.Identifier(DATABASE)
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(name))
        connection.execute(sql.SQL("create database {}").format(name))
    dsn = make_conninfo(maintenance, dbname=DATABASE)
    install(dsn)
    return dsn


def embedded_dsn() -> str:
    server = Server()
    server.start()
    return server.dsn(tcp=True)  # JDBC knows no unix sockets


def most_legs(legs: Legs) -> str:
    return min((name for name in legs if name), key=lambda name: (-legs[name], name))


def fill_queues(client: Client, dsn: str, legs: DataFrame, total: int) -> list[Enqueued]:
    """One job for each leg: in order per aircraft, or without order where it is not known."""
    pipeline().create_queues(client)
    with ThreadPoolExecutor(1) as thread, progress_bar("enqueue", total) as show:
        filling = thread.submit(pipeline().enqueue_legs, legs, dsn)
        while not filling.done():
            time.sleep(POLL_SECONDS)
            show(live_jobs(client))
        filled: list[Enqueued] = filling.result()
        show(live_jobs(client))
        return filled


def drain_queues(client: Client, dsn: str, broken: Leg, total: int) -> Drain:
    """All but the aircraft that breaks down; that one too once it is repaired."""
    started = time.monotonic()
    with Crew(dsn, broken) as crew, progress_bar("drain", total) as show:
        watch(client, crew, show, only_blocked_keys_are_left)
        seconds = time.monotonic() - started
        blocked = client.blocked_keys(AIRCRAFT)
        left = live_jobs(client)
        console.print(blocked_table(blocked))
        for key in blocked:
            client.retry_job(AIRCRAFT, key.job_id)
        watch(client, crew, show, lambda client: live_jobs(client) == 0)
        return Drain(total - left, seconds, blocked, crew.dismiss())


def only_blocked_keys_are_left(client: Client) -> bool:
    blocked = sum(1 + key.waiting_count for key in client.blocked_keys(AIRCRAFT))
    return live_jobs(client) == blocked


def live_jobs(client: Client) -> int:
    return sum(queue.total for queue in client.queue_stats())


def watch(
    client: Client, crew: Crew, show: Callable[[int], None], until: Callable[[Client], bool]
) -> None:
    """Waits until it is so, with an eye on the workers."""
    completed, moved_at = -1, time.monotonic()
    while True:
        client.run_maintenance()
        is_so = until(client)
        before, completed = completed, sum(queue.completed for queue in client.queue_stats())
        show(completed)
        if is_so:
            return
        crew.require_alive()
        if completed != before:
            moved_at = time.monotonic()
        elif time.monotonic() - moved_at > PATIENCE_SECONDS:
            raise Stuck(f"no job was completed for {PATIENCE_SECONDS} s, {completed} are done")
        time.sleep(POLL_SECONDS)


def check_block(drain: Drain, broken: Leg, expected: Legs) -> Check:
    """While it was blocked: one aircraft, at the right leg, and all others had finished."""
    behind = expected[broken.tailnum] - broken.number
    seen = [(key.singleton_key, key.waiting_count) for key in drain.blocked]
    finished = drain.jobs_before_repair == sum(expected.values()) - behind - 1
    return Check(
        "one broken aircraft was blocked while all others finished",
        seen == [(broken.tailnum, behind)] and finished,
        f"blocked {seen}, {drain.jobs_before_repair} jobs done by then",
    )


def check_report(spark: SparkSession, folder: Path, total: int) -> Check:
    """As it was written."""
    days = spark.read.parquet(str(folder / "daily_delays"))
    counted = days.agg(F.sum("flights")).first()
    found = counted[0] if counted else None
    return Check("the report counts every leg", found == total, f"{found} of {total}")


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    columns = (
        TextColumn("{task.description:8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


def blocked_table(blocked: list[BlockedKey]) -> Table:
    table = Table("key", "state", "attempts", "last error", "waiting", title="blocked_keys")
    for key in blocked:
        error = key.last_error or ""
        table.add_row(
            key.singleton_key, key.state, str(key.attempts), error, str(key.waiting_count)
        )
    return table


def print_summary(
    filled: list[Enqueued],
    drain: Drain,
    waits: tuple[float, float],
    violations: int,
    flown: tuple[str, int, int],
) -> None:
    jobs = sum(part.inserted for part in filled)
    seconds = sum(part.seconds for part in filled)
    table = Table("what", "seen", title="pgbaton demo")
    for what, seen in (
        ("jobs", f"{jobs:,}"),
        ("enqueued", f"{jobs / seconds:,.0f} jobs/s through {filled[0].method}"),
        ("drained", f"{drain.rate:,.0f} jobs/s by {len(BATCH_SIZES)} Python workers"),
        ("wait from enqueue to claim", f"p50 {waits[0]:.1f} s, p99 {waits[1]:.1f} s"),
        ("blocked keys seen", str(len(drain.blocked))),
        ("order violations", str(violations)),
        ("most legs", f"{flown[0]}: {flown[1]} legs between {flown[2]} airports"),
    ):
        table.add_row(what, seen)
    console.print(table)


def print_checks(checks: list[Check]) -> bool:
    for check in checks:
        outcome = "[green]ok[/]" if check.holds else "[red]FAILED[/]"
        console.print(f"{outcome} {check.what}" + ("" if check.holds else f": {check.found}"))
    return all(check.holds for check in checks)


def print_next_steps(where: str, folder: Path) -> None:
    """What to click and to type now: the database stays until the next demo."""
    command = Path(".venv/bin/pgbaton")
    pgbaton = str(command) if command.exists() else "pgbaton"
    console.print("[bold]what to look at now[/]")
    for what, how in (
        ("delays of each day", (folder / "daily_delays.png").absolute().as_uri()),
        ("the page", f'{pgbaton} serve --dsn "{where}", then http://localhost:8000/'),
        ("in the terminal", f'{pgbaton} top --dsn "{where}"'),
        ("in SQL", f'psql "{where}", then: table pgbaton.jobs limit 10;'),
        ("step by step", "docs/tutorial.md"),
    ):
        console.print(f"  {what:20}{how}", markup=False)
