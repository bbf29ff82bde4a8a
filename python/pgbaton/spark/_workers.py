"""Whether Spark's Python workers have what this package needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from pgbaton.spark._errors import missing_package
from pgbaton.spark._jdbc import is_connect

# Sessions whose workers were seen to have all of it.
_equipped: set[str] = set()


def require_workers(spark: SparkSession) -> None:
    """Asks some of the workers of a cluster, once for each session.

    Raises:
        ImportError: one of them has no pgbaton, or no psycopg; says what to do.
    """
    if not is_connect(spark) and spark.sparkContext.master.split("[")[0] == "local":
        return
    session = spark.session_id if is_connect(spark) else spark.sparkContext.applicationId
    if session in _equipped:
        return
    tasks = 2 if is_connect(spark) else spark.sparkContext.defaultParallelism
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(_look(), "name string").collect()
    for row in rows:
        raise missing_package(row["name"])
    _equipped.add(session)


def _look() -> Any:
    """A function within a function: Spark sends its code, as workers may not have this module."""

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        import importlib

        import pyarrow

        for _ in batches:
            for name in ("pgbaton", "psycopg"):
                try:
                    importlib.import_module(name)
                except ImportError as error:
                    missing = error.name or name
                    yield pyarrow.RecordBatch.from_pydict({"name": [missing]})
                    break

    return look
