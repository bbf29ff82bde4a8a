"""What needs an extra says so with the line that installs it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

from pgbaton import _assemble

PROJECT = tomllib.loads((_assemble.source_root() / "pyproject.toml").read_text("utf-8"))
# How each extra is entered, and the packages without which that cannot be.
ENTRANCES = {
    "metrics": ("import pgbaton.metrics", ["prometheus_client"]),
    "http": (
        "import pgbaton.http",
        ["prometheus_client", "psycopg_pool", "sse_starlette", "starlette"],
    ),
    "spark": ("import pgbaton.spark", ["pyspark", "pyarrow"]),
    "django": ("import pgbaton.django", ["django"]),
    "demo": ("from pgbaton.cli import app; app(['demo'])", ["pyspark"]),
}
# Nothing of theirs is imported: PostgreSQL is looked for, tracing is done where there is some.
NOT_ENTERED = {"embedded", "otel"}
OF_DEVELOPERS = {"bench", "dev", "docs"}
COMMANDS = {
    "metrics": (["metrics", "--once"], "prometheus_client"),
    "http": (["serve"], "uvicorn"),
    "demo": (["demo"], "pyspark"),
}
CASES = [
    (extra, statement, package)
    for extra, (statement, packages) in ENTRANCES.items()
    for package in packages
]


def test_every_extra_is_known() -> None:
    known = ENTRANCES.keys() | NOT_ENTERED | OF_DEVELOPERS
    assert PROJECT["project"]["optional-dependencies"].keys() == known


@pytest.mark.parametrize(("extra", "statement", "package"), CASES)
def test_a_missing_package_names_its_extra(extra: str, statement: str, package: str) -> None:
    """Another of the extra may be missing first where Spark is not installed."""
    done = without(package, statement)
    *_, last = done.stderr.splitlines()
    assert f" is not installed: pip install 'pgbaton[{extra}]'" in last
    assert done.returncode == 1


@pytest.mark.parametrize("extra", COMMANDS)
def test_commands_say_it_in_one_sentence(extra: str) -> None:
    command, package = COMMANDS[extra]
    done = without(package, f"from pgbaton.cli import app; app({command})")
    assert done.stderr == f"pgbaton: {package} is not installed: pip install 'pgbaton[{extra}]'\n"
    assert done.returncode == 1


def without(package: str, statement: str) -> subprocess.CompletedProcess[str]:
    """Runs it in a Python that does not have a package."""
    program = f"import sys; sys.modules[{package!r}] = None; {statement}"
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PGBATON_DSN": "host=/nowhere"},
    )
