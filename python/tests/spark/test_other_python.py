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
from pgbaton.spark import enqueue, register

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.getOrCreate()
"""
CALLS = {
    "enqueue": 'enqueue(spark.range(3), sys.argv[1], "mail", method="datasource")',
    "register": "register(spark)",
}


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


@pytest.mark.timeout(600)
@pytest.mark.parametrize("call", [pytest.param("enqueue", marks=pytest.mark.proof), "register"])
def test_workers_that_lack_the_packages(dsn: str, queues: None, tmp_path: Path, call: str) -> None:
    """They run a Python in which nothing is installed: the last line says so."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    bare = {"PYSPARK_PYTHON": str(tmp_path / "bin" / "python"), "SPARK_LOCAL_HOSTNAME": "localhost"}
    with java_for_spark():
        program = [sys.executable, "-c", PROGRAM + CALLS[call], dsn]
        done = run_program(program, {**os.environ, **bare})
    assert done.returncode == 1
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith("ImportError: Spark's Python workers have no p"), done.stderr[-2000:]
    assert f"set PYSPARK_PYTHON to {sys.executable} " in last
