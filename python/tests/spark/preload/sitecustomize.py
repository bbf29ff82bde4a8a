"""On the path of the Python processes of the session that the tests share.

PySpark's daemons import here, once, what each fork of them would import; and the collection that
PySpark runs after each task then has little to look at. The sessions of drivers.py do without.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module

if "pyspark.daemon" in sys.orig_argv:
    for name in (sys.orig_argv[-1], "pandas", "pyspark.sql.conversion", "pgbaton.spark"):
        import_module(name)
    gc.freeze()
