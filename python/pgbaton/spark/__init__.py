"""Spark: a DataFrame becomes jobs, and jobs a DataFrame.

Either through the JDBC driver of PostgreSQL where one can be had, or through the data source
`pgbaton`, for which this package must be on Spark's workers; see docs/spark.md.
"""

from __future__ import annotations

from pgbaton.spark._datasource import register
from pgbaton.spark._enqueue import Enqueued, Part, enqueue, foreach_batch
from pgbaton.spark._jdbc import jar_path, jdbc_options
from pgbaton.spark._read import read_history

__all__ = [
    "Enqueued",
    "Part",
    "enqueue",
    "foreach_batch",
    "jar_path",
    "jdbc_options",
    "read_history",
    "register",
]
