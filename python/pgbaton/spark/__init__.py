"""Spark: a DataFrame becomes jobs, and the history of a queue a DataFrame.

Both go through the JDBC driver of PostgreSQL where one can be had (see docs/spark.md), else
through psycopg in Spark's Python workers, which then need this package; the result is the same.
"""

from __future__ import annotations

from pgbaton.spark._enqueue import Enqueued, enqueue
from pgbaton.spark._read import read_history

__all__ = ["Enqueued", "enqueue", "read_history"]
