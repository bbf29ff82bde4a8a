"""Spark's Python workers may be another Python than the one that runs the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from drivers import run_program
from pyspark.errors import PySparkException

from pgbaton.demo._java import java_for_spark
from pgbaton.spark._errors import other_pythons_noted

PROGRAM = """
import sys
from pyspark.sql import SparkSession
from pgbaton.spark import enqueue

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
enqueue(builder.getOrCreate().range(3), sys.argv[1], "mail", method="datasource")
"""


@pytest.mark.parametrize(
    ("message", "is_noted"),
    [
        ("...\nModuleNotFoundError: No module named 'pgbaton'\n SQLSTATE: 38000", True),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", True),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table or view cannot be found", False),
    ],
)
def test_an_error_of_another_python_says_what_to_set(message: str, is_noted: bool) -> None:
    with pytest.raises(PySparkException) as raised, other_pythons_noted():
        raise PySparkException(message)
    notes = getattr(raised.value, "__notes__", [])
    assert [f"set PYSPARK_PYTHON to {sys.executable} " in note for note in notes] == (
        [True] if is_noted else []
    )


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_workers_that_lack_the_packages(dsn: str, queues: None, tmp_path: Path) -> None:
    """They run a Python in which nothing is installed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    bare = {"PYSPARK_PYTHON": str(tmp_path / "bin" / "python"), "SPARK_LOCAL_HOSTNAME": "localhost"}
    with java_for_spark():
        done = run_program([sys.executable, "-c", PROGRAM, dsn], {**os.environ, **bare})
    assert done.returncode == 1
    assert f"set PYSPARK_PYTHON to {sys.executable} " in done.stderr
