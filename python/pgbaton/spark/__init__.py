"""Spark: a DataFrame becomes jobs, and jobs a DataFrame.

Either through the JDBC driver of PostgreSQL where one can be had, or through the data source
`pgbaton`, for which this package must be on Spark's workers; see docs/spark.md.
"""

from __future__ import annotations

from pgbaton._extras import extra

with extra("spark"):
    from pgbaton.spark._claim import Claim, Settled, claim
    from pgbaton.spark._datasource import register
    from pgbaton.spark._enqueue import Enqueued, Part, enqueue, foreach_batch
    from pgbaton.spark._history import read_blocked, read_history
    from pgbaton.spark._jdbc import jar_path, jdbc_options
    from pgbaton.spark._runs import ErrorCount, RunReport, outcomes, run_report, wait
    from pgbaton.spark._snapshot import Snapshot, snapshot

__all__ = [
    "Claim",
    "Enqueued",
    "ErrorCount",
    "Part",
    "RunReport",
    "Settled",
    "Snapshot",
    "claim",
    "enqueue",
    "foreach_batch",
    "jar_path",
    "jdbc_options",
    "outcomes",
    "read_blocked",
    "read_history",
    "register",
    "run_report",
    "snapshot",
    "wait",
]
