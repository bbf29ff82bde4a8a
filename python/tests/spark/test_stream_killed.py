"""The driver of a stream is killed while the jobs of a micro-batch are committed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from drivers import Work, driver, stream_orders, stream_orders_here, until, write_orders
from pyspark.sql import SparkSession
from test_exactly_once import assert_broken, gate, waiting

Conn = psycopg.Connection[Any]
ROWS = 600
FILES = 3


@pytest.mark.proof
@pytest.mark.parametrize("sink", ["foreachBatch", "format"])
@pytest.mark.timeout(600)
def test_stream_goes_on_from_its_checkpoint_and_sends_the_batch_again(
    spark: SparkSession,
    dsn: str,
    conn: Conn,
    drain: Callable[[str], list[tuple[Any, ...]]],
    tmp_path: Path,
    sink: str,
) -> None:
    write_orders(tmp_path / "orders", FILES, ROWS)
    with gate(conn, "enqueue_ledger", "new.run_id = 'shop:1'") as holder:
        with driver("local[2]", tmp_path) as doomed:
            work = doomed.start(stream_orders_here, dsn, tmp_path, sink)
            until(lambda: waiting(conn, "advisory"), work)
            doomed.kill()
            assert_broken(work)
        # What the dead one sent is not committed yet when the batch comes again, and waits for it.
        again = Future[None]()
        with ThreadPoolExecutor(1) as pool:
            waited = pool.submit(let_it_commit, conn, holder, again)
            try:
                stream_orders(spark, dsn, tmp_path, sink)
            finally:
                again.set_result(None)
            waited.result()
    batches = conn.execute(
        "select run_id, jobs from pgbaton.enqueue_ledger order by run_id"
    ).fetchall()
    assert batches == [(f"shop:{number}", ROWS // FILES) for number in range(FILES)]
    seen: dict[str, list[int]] = {}
    for key, payload, _ in drain("orders"):
        seen.setdefault(key, []).append(payload["step"])
    assert seen == {f"k{k}": list(range(k, ROWS, 10)) for k in range(10)}


def let_it_commit(conn: Conn, holder: Conn, again: Future[None]) -> None:
    """Opens the gate when another transaction waits for what becomes of the one at it."""
    try:
        until(lambda: waiting(conn, "transactionid"), Work(again))
    finally:
        holder.close()
