"""The examples do what they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from drivers import run_program
from pyspark.sql import SparkSession

from pgbaton.demo._flights import pipeline

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_flights_pipeline_from_the_csv_to_the_report(
    spark: SparkSession, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flights = pipeline()
    monkeypatch.setattr(flights, "run_workers", lambda dsn: flights.work(dsn, "worker"))
    report = flights.run(spark, dsn, tmp_path, sample=500)
    days = spark.read.parquet(str(tmp_path / "daily_delays")).collect()
    assert sorted(days) == sorted(report.collect())
    assert sum(day["flights"] for day in days) == 500
    assert 0 < sum(day["late"] for day in days) < 500
    assert all(day["late_minutes"] > flights.LATE_MINUTES for day in days if day["late"])
    assert (tmp_path / "daily_delays.png").stat().st_size > 1000


@pytest.fixture
def orders() -> ModuleType:
    spec = importlib.util.spec_from_file_location("orders", EXAMPLES / "streaming_orders.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_streaming_orders_counts_what_the_worker_saw(
    orders: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    for seen, said in (
        ([("a", 0), ("b", 1), ("a", 2)], "duplicates: 0, lost: 0"),
        ([("a", 0), ("b", 1), ("b", 1), ("a", 2)], "duplicates: 1, lost: 0"),
        ([("a", 0), ("a", 2)], "duplicates: 0, lost: 1"),
        ([("a", 2), ("b", 1), ("a", 0)], "out of order: 1"),
    ):
        assert orders.is_exactly_once(seen, 3) == (said == "duplicates: 0, lost: 0")
        assert said in capsys.readouterr().out


def test_streaming_orders_reads_files_into_the_queue(
    orders: ModuleType,
    spark: SparkSession,
    dsn: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def driver(dsn: str, folder: Path, kill: bool) -> int:
        orders.stream(spark, dsn, folder, kill)
        return 0

    monkeypatch.setattr(orders, "run_driver", driver)
    monkeypatch.setattr(orders, "FILES", 2)
    assert orders.run(dsn, tmp_path, events=200, kill_once=False)


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_streaming_orders_survives_the_death_of_its_driver() -> None:
    said = run_example("streaming_orders.py", "--kill-once", "--events", "2000")
    assert "the driver was killed in batch 1" in said
    assert said.splitlines()[-1] == "duplicates: 0, lost: 0"


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_flights_pipeline_by_itself(tmp_path: Path) -> None:
    said = run_example("flights_pipeline.py", "--sample", "2000", "--out", str(tmp_path))
    assert "Worst day: 2013-01-0" in said
    assert (tmp_path / "daily_delays.png").exists()


def run_example(name: str, *arguments: str) -> str:
    done = run_program([sys.executable, str(EXAMPLES / name), *arguments])
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout
