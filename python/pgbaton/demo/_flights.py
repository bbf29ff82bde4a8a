"""The session of the demo, and what it asks of the flights besides the pipeline."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pgbaton import _assemble


@cache
def pipeline() -> ModuleType:
    """The module examples/flights_pipeline.py, whose steps the demo runs."""
    file = _assemble.source_root() / "examples" / "flights_pipeline.py"
    spec = importlib.util.spec_from_file_location("pgbaton_flights_pipeline", file)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"{file} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        # Over TCP each Python task waits 40 ms for an acknowledgement.
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    try:
        yield spark
    finally:
        spark.stop()


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
        history.where("state = 'completed' and singleton_key is not null")
        .groupBy("singleton_key")
        .agg(F.count(F.lit(1)).alias("legs"), F.size(airports).alias("airports"))
        .orderBy(F.desc("legs"), "singleton_key")
        .take(1)
    )
    return row["singleton_key"], row["legs"], row["airports"]
