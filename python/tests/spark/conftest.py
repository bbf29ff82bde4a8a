"""One Spark session for all tests of a process; each test has a database of its own."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from pgbaton.demo._java import java_for_spark
from pgbaton.spark import _jdbc

# Most of these JVMs live too short to be worth compiling for, or collecting on several cores.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# `make test-spark` writes it; a JVM that it is not for goes without, and would say so.
if (CLASSES := Path(sys.prefix) / "spark.jsa").exists():
    JAVA_OPTIONS += f' "-XX:SharedArchiveFile={CLASSES}" -Xlog:disable'
os.environ.setdefault("JDK_JAVA_OPTIONS", JAVA_OPTIONS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "spark":
            item.add_marker(pytest.mark.spark)
            # The first test starts a JVM, which takes minutes on a busy machine.
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(600))
    # Files with long ones first, so that no process is left with one at the end.
    long = {item.path for item in items if item.get_closest_marker("proof")}
    items.sort(key=lambda item: item.path not in long)


# More than two of the waits of drivers.py.
SECONDS_TO_END = 600
STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[STDERR] = os.dup(2)  # what tests write there is captured


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """The end of a test that timed out is not timed any more: what hangs there ends the process.

    It says first where each thread is.
    """
    faulthandler.dump_traceback_later(SECONDS_TO_END, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_HOSTNAME"] = "localhost"
    with java_for_spark():
        session = (
            SparkSession.builder.master("local[2,4]")
            .config("spark.log.level", "OFF")
            .config("spark.sql.session.timeZone", "America/New_York")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parent / "preload"))
            .getOrCreate()
        )
        yield session
        session.stop()


@pytest.fixture(params=["jdbc", "datasource"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test that asks for it runs with the driver's jar and as if there were none."""
    if request.param == "datasource":
        monkeypatch.setattr(_jdbc, "load_driver", lambda session: "no jar")
    return request.param


@pytest.fixture
def queues(conn: psycopg.Connection[Any]) -> None:
    """A FIFO queue `orders` and a standard queue `mail`."""
    conn.execute("select pgbaton.create_fifo_queue('orders'), pgbaton.create_queue('mail')")


@pytest.fixture
def drain(conn: psycopg.Connection[Any], queues: None) -> Callable[[str], list[tuple[Any, ...]]]:
    """Works a queue off and returns (key, payload, priority) in the order of the claims."""

    def work(queue: str) -> list[tuple[Any, ...]]:
        seen = []
        while jobs := conn.execute(
            "select singleton_key, payload, priority, lease_token"
            " from pgbaton.claim_job_batch('w', array[%s], batch_size => 500)",
            [queue],
        ).fetchall():
            seen += [job[:3] for job in jobs]
            conn.execute("select pgbaton.complete_claim(%s)", [jobs[0][3]])
        return seen

    return work
