"""Millions of rows pass through Spark without being held."""

from __future__ import annotations

from concurrent import futures
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from drivers import Work, driver, enqueue_rows
from test_exactly_once import METHODS

Conn = psycopg.Connection[Any]
ROWS = 3_000_000
HEAP_MB = 640
# A row is about 120 bytes: held at once, 3 million are 360 MB in each form they pass through. That
# is more than Spark keeps in memory of such a heap, and than a Python worker may have.
MOST_MB = {"java": 2 * HEAP_MB, "python": 320}


@pytest.mark.proof
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.timeout(1800)
def test_millions_of_rows_in_bounded_memory(
    dsn: str,
    conn: Conn,
    queues: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    monkeypatch.delenv("JDK_JAVA_OPTIONS")  # with the collector that users have
    with driver("local[2]", tmp_path, {"spark.driver.memory": f"{HEAP_MB}m"}) as found:
        work = found.start(enqueue_rows, dsn, ROWS, method=method)
        peak = peak_memory(psutil.Process(found.pid), work)
        done = work.result()
    print(f"\n{ROWS:,} rows through {method}: {done.seconds:.0f} s, peak resident MB {peak}")
    assert done.inserted == ROWS
    assert conn.execute("select sum(hi - lo + 1) from pgbaton.span").fetchone() == (ROWS,)
    assert conn.execute(
        "select count(*), count(distinct (payload ->> 'id')::bigint) from pgbaton.job"
    ).fetchone() == (ROWS, ROWS)
    # Through JDBC no Python works.
    assert (peak["java"] > 0, peak["python"] > 0) == (True, method == "datasource")
    assert all(peak[kind] < most for kind, most in MOST_MB.items()), peak


def peak_memory(root: psutil.Process, work: Work) -> dict[str, int]:
    """The largest resident size of a process of each kind, in MB, while the work lasts."""
    peak = dict.fromkeys(MOST_MB, 0)
    while not futures.wait([work.future], timeout=0.2).done:
        for process in root.children(recursive=True):
            try:
                kind = "java" if "java" in process.name() else "python"
                peak[kind] = max(peak[kind], process.memory_info().rss >> 20)
            except psutil.NoSuchProcess:
                continue
    return peak
