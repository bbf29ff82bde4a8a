"""How Spark talks to the database."""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias

from pyspark.sql import SparkSession

from pgbaton.spark import _jdbc
from pgbaton.spark._dsn import Target

Method: TypeAlias = Literal["jdbc", "psycopg"]

# A cluster with hundreds of cores shall not open hundreds of connections unasked.
MOST_PARTITIONS = 16


def choose_method(spark: SparkSession, target: Target, doing: str) -> Method:
    """JDBC where that is possible; else it says so in one line."""
    obstacle = target.jdbc_obstacle() or _jdbc.load_driver(spark)
    if obstacle is None:
        return "jdbc"
    print(f"pgbaton: {doing} through psycopg: {obstacle}", file=sys.stderr)
    return "psycopg"
