"""Python's garbage collection in Spark's workers."""

from __future__ import annotations

import gc
from functools import cache


@cache
def spare_imports() -> None:
    """Leaves what was imported until now out of all collections of this process.

    PySpark collects after each task, and going through pandas and pyarrow took 40 ms of CPU. Call
    it when the first task has done its work: half of the imports happen on the way.
    """
    gc.freeze()
