"""Whether Spark's Python workers have what this package needs."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from pgbaton.spark._errors import missing_package
from pgbaton.spark._jdbc import is_connect

# Sessions whose workers were seen to have all of it.
_equipped: set[str] = set()


def require_workers(spark: SparkSession) -> None:
    """Asks some of the workers, once for each session, unless they run as this process does.

    Raises:
        ImportError: one of them has no pgbaton, or no psycopg; says what to do.
    """
    if not is_connect(spark) and _are_like_this_process(spark):
        return
    session = spark.session_id if is_connect(spark) else spark.sparkContext.applicationId
    if session in _equipped:
        return
    tasks = 2 if is_connect(spark) else spark.sparkContext.defaultParallelism
    try:
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(_look(), "name string").collect()
    except PythonException as error:
        if lacking := re.search(r"No module named '(\w+)", str(error)):
            raise missing_package(lacking[1]) from None
        raise
    for row in rows:
        raise missing_package(row["name"])
    _equipped.add(session)


def _are_like_this_process(spark: SparkSession) -> bool:
    """On this machine, with the Python of the same folder; `python3` may be another one."""
    context = spark.sparkContext
    python = shutil.which(context.pythonExec)
    return (
        context.master.split("[")[0] == "local"
        and python is not None
        and Path(python).parent == Path(sys.executable).parent
    )


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
