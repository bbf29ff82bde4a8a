"""A standalone cluster whose executors have a Python of their own, without pgbaton."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import psycopg
import pytest
from drivers import run_program, standalone_cluster

from pgbaton._spark_zip import write_zip

Conn = psycopg.Connection[Any]


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python with all that this one has, but for pgbaton."""
    venv.create(tmp_path / "bare", symlinks=True)
    [packages] = (tmp_path / "bare").glob("lib/python*/site-packages")
    for entry in Path(psycopg.__file__).parents[1].iterdir():
        if "pgbaton" not in entry.name and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    python = tmp_path / "bare" / "bin" / "python"
    said = subprocess.run(
        [python, "-c", "import pgbaton"], capture_output=True, text=True, env={}, cwd=tmp_path
    )
    assert "No module named 'pgbaton'" in said.stderr
    return python


@pytest.mark.timeout(600)
def test_executors_without_pgbaton(
    dsn: str, conn: Conn, queues: None, bare_python: Path, tmp_path: Path
) -> None:
    """First it is said in one line what is missing; with the zip everything works."""
    write_zip(tmp_path / "pgbaton-spark.zip")
    script = Path(__file__).parent / "cluster_driver.py"
    # A stream that is read is planned on the driver's machine, without what was shipped.
    zipped = {"PYTHONPATH": str(tmp_path / "pgbaton-spark.zip")}
    environment = {**os.environ, "PYSPARK_PYTHON": str(bare_python), **zipped}
    with standalone_cluster(tmp_path / "workers", str(bare_python)) as master:
        command = [sys.executable, str(script), master, dsn, str(tmp_path)]
        done = run_program(command, environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    for way in ("register", "enqueue", "claim"):
        assert found[way] == (
            "ImportError: Spark's Python workers have no pgbaton: set PYSPARK_PYTHON to "
            f"{sys.executable} where they are on this machine, else pass --py-files with the file "
            "that `pgbaton spark-zip` writes (docs/spark.md, Shipping)"
        )
    # Nothing was claimed meanwhile, and JDBC needs no Python on the executors.
    assert (found["by_jdbc"], found["running"]) == (5, 0)
    assert "Traceback" not in done.stderr
    assert found["hosts"] == 2
    assert (found["enqueued"], found["again"]) == (2000, 2000)
    assert (found["acked"], found["history"], found["streamed"]) == (6, 6, 6)
    assert found["sql_is_there"]
