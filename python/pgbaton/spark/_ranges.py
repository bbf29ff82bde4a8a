"""Ids cut into ranges, each read by a task."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

# What a cluster may open at once unless it is told otherwise.
DEFAULT_PARTITIONS = 8


@dataclass(frozen=True)
class IdRange(InputPartition):
    """The ids from the first to the last, both included."""

    first: int
    last: int


def check_partitions(partitions: int) -> None:
    """Raises ValueError for what is no number of partitions."""
    if not isinstance(partitions, int) or partitions < 1:
        raise ValueError(f"partitions is {partitions}: pass at least 1")
