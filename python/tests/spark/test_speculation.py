"""Spark starts a second attempt beside the first: nothing comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from drivers import Driver, driver, enqueue_steps, standalone_cluster, until
from test_exactly_once import METHODS, ROWS, TABLES, assert_each_row_once, gate, waiting

Conn = psycopg.Connection[Any]
SETTINGS = {
    "spark.executor.cores": "1",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
}


@pytest.fixture(scope="module")
def speculating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    folder = tmp_path_factory.mktemp("speculation")
    with (
        standalone_cluster(folder / "workers") as master,
        driver(master, folder, SETTINGS) as found,
    ):
        yield found


@pytest.mark.proof
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.timeout(600)
def test_speculation_starts_a_second_attempt_and_nothing_comes_twice(
    speculating: Driver, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    before = len(speculating.events("SparkListenerTaskStart"))
    conn.execute("create sequence public.commits")
    first = "new.part = 1" if method == "jdbc" else "nextval('public.commits') = 1"
    with gate(conn, TABLES[method], first) as holder:
        work = speculating.start(enqueue_steps, dsn, method=method, partitions=4)
        until(lambda: waiting(conn, "advisory"), work)
        if method == "jdbc":
            # The second attempt waits for what becomes of the first.
            until(lambda: waiting(conn, "transactionid"), work)
        else:
            # The second attempt stages under an id of its own, and the run ends.
            assert work.result().inserted == ROWS
            assert len(waiting(conn, "advisory")) == 1
        holder.close()
        done = work.result()
        until(
            lambda: second_attempts_of_the_write(
                speculating.events("SparkListenerTaskStart")[before:]
            )
        )
    assert (done.inserted, done.already) == (ROWS, 0)
    until(lambda: not waiting(conn, "advisory"))
    assert_each_row_once(conn)
    # What the slow attempt staged stays, and is no job.
    assert conn.execute("select count(distinct attempt) from pgbaton.spark_chunk").fetchone() == (
        0 if method == "jdbc" else 1,
    )


def second_attempts_of_the_write(started: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks that Spark started beside one that ran, in the last stage."""
    last = max((event["Stage ID"] for event in started), default=0)
    return [e for e in started if e["Stage ID"] == last and e["Task Info"]["Speculative"]]
