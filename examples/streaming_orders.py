"""A stream of orders into a FIFO queue, exactly once, though its driver is killed.

    pip install 'pgbaton[demo]'
    python examples/streaming_orders.py --kill-once

Files with events of orders, a JSON object in each line, arrive in a folder. Structured Streaming
reads them, one file for each micro-batch, and each event becomes a job, in order per customer.
With --kill-once the driver is killed with SIGKILL in its second micro-batch, after the jobs were
committed and before Spark has noted that: the stream starts again at its checkpoint, and Spark
sends that batch once more. At the end a worker takes all jobs, and they are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pgbaton import Client
from pgbaton.demo import java_for_spark
from pgbaton.embedded import temporary_server
from pgbaton.install import install
from pgbaton.spark import foreach_batch

QUEUE = "orders"
STREAM = "orders-from-files"
CUSTOMERS = 50
FILES = 4
KILLED_BATCH = 1
SCHEMA = "event long, customer string, what string"


def write_files(folder: Path, events: int) -> None:
    """Events 0, 1, 2, … in order of their arrival."""
    folder.mkdir()
    for number in range(FILES):
        lines = [
            json.dumps({"event": n, "customer": f"customer-{n % CUSTOMERS}", "what": "paid"})
            for n in range(number * events // FILES, (number + 1) * events // FILES)
        ]
        file = folder / f"{number}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (number, number))  # Spark takes the oldest file first


def stream(spark: SparkSession, dsn: str, folder: Path, kill: bool) -> None:
    """From the checkpoint on until all files are read."""
    enqueue_batch = foreach_batch(
        QUEUE,
        dsn,
        STREAM,
        payload=["event", "what"],
        key="customer",
        order_by="event",
        partitions=2,
    )

    def enqueue_and_perhaps_die(batch: DataFrame, number: int) -> None:
        enqueue_batch(batch, number)
        print(f"batch {number} is enqueued", flush=True)
        if kill and number == KILLED_BATCH:
            os.kill(os.getpid(), signal.SIGKILL)

    query = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .json(str(folder / "events"))
        .writeStream.foreachBatch(enqueue_and_perhaps_die)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def run_driver(dsn: str, folder: Path, kill: bool) -> int:
    """The stream in a process of its own; returns its exit code."""
    command = [sys.executable, __file__, "--driver", str(folder)]
    environment = {**os.environ, "PGBATON_DSN": dsn, "PYSPARK_PYTHON": sys.executable}
    return subprocess.run([*command, *["--kill-once"] * kill], env=environment).returncode


def work_off(client: Client) -> list[tuple[str, int]]:
    """Takes all jobs and returns (customer, event) in the order in which they came."""
    seen = []
    while jobs := client.claim_job_batch("worker", [QUEUE], batch_size=1000):
        seen += [(job.singleton_key or "", job.payload["event"]) for job in jobs]
        client.complete_claim(jobs[0].lease_token)
    return seen


def is_exactly_once(seen: list[tuple[str, int]], events: int) -> bool:
    """Counts what the worker saw, and says so."""
    times = Counter(event for _, event in seen)
    duplicates = times.total() - len(times)
    lost = len(set(range(events)) - times.keys())
    latest: dict[str, int] = {}
    out_of_order = 0
    for customer, event in seen:
        out_of_order += event <= latest.get(customer, -1)
        latest[customer] = event
    print(f"jobs: {len(seen)}, of {len(latest)} customers, out of order: {out_of_order}")
    print(f"duplicates: {duplicates}, lost: {lost}")
    return not (duplicates or lost or out_of_order)


def run(dsn: str, folder: Path, events: int, kill_once: bool) -> bool:
    """Whether each event became a job once. The database must have pgbaton and no such queue."""
    write_files(folder / "events", events)
    with Client(dsn) as client:
        client.create_fifo_queue(QUEUE)
        code = run_driver(dsn, folder, kill_once)
        if kill_once and code == -signal.SIGKILL:
            print(f"the driver was killed in batch {KILLED_BATCH}: once more from the checkpoint")
            code = run_driver(dsn, folder, kill=False)
        elif kill_once:
            raise RuntimeError(f"the driver was not killed, but ended with exit code {code}")
        if code:
            raise RuntimeError(f"the driver ended with exit code {code}")
        return is_exactly_once(work_off(client), events)


def main() -> None:
    """In a database of its own; exit code 1 unless each event became one job."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    options.add_argument("--kill-once", action="store_true", help="kill the driver in mid-batch")
    options.add_argument("--events", type=int, default=20_000)
    options.add_argument("--driver", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.driver is not None:
        with java_for_spark():
            # OFF: of a driver that was killed Java has much to say.
            builder = SparkSession.builder.config("spark.log.level", "OFF")
            builder = builder.config("spark.ui.showConsoleProgress", "false")
            spark = builder.config("spark.ui.enabled", "false").getOrCreate()
            stream(spark, os.environ["PGBATON_DSN"], given.driver, given.kill_once)
            spark.stop()
        return
    with (
        temporary_server() as server,
        tempfile.TemporaryDirectory(prefix="pgbaton-orders-") as folder,
    ):
        dsn = server.dsn(tcp=True)
        install(dsn)
        passed = run(dsn, Path(folder), given.events, given.kill_once)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
