"""The tests of the Django backend pass with Django 6, which has `django.tasks` of its own.

It needs Python 3.12. On an older one these run in a virtual environment of one that is found here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_examples import run_to_end

from pgbaton import _assemble

pytestmark = pytest.mark.timeout(600)  # of an installation

ROOT = _assemble.source_root()
FILES = [f"test_django_{part}.py" for part in ("admin", "app", "tasks", "worker")]
VERSION = "import sys; print(sys.version_info >= (3, 12))"


def candidates() -> Iterator[str]:
    for minor in range(12, 16):
        yield from filter(None, [shutil.which(f"python3.{minor}")])
        for found in sorted((Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/python")):
            yield str(found)


def is_new_enough(python: str) -> bool:
    done = subprocess.run([python, "-c", VERSION], capture_output=True, text=True)
    return done.stdout == "True\n"  # a shim of pyenv may be there without its Python


@pytest.fixture
def python(tmp_path: Path) -> str:
    """One that has Django 6, and what these tests need."""
    newer = next(filter(is_new_enough, candidates()), None)
    if newer is None:
        pytest.skip("this machine has no Python 3.12 or newer, which Django 6 needs")
    run_to_end([newer, "-m", "venv", "--without-pip", str(tmp_path / "venv")], tmp_path, {})
    python = str(tmp_path / "venv" / "bin" / "python")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], "django>=6,<7", "pytest", "pytest-timeout"]
    # With the pip of the tests, since a pip of its own would take seconds.
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-qq", "--no-compile"]
    run_to_end([*pip, *wanted], tmp_path, dict(os.environ))
    return python


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the tests themselves run with Django 6")
def test_the_tests_of_the_backend_pass_with_django_6(python: str) -> None:
    version = run_to_end([python, "-c", "import django; print(django.VERSION[0])"], ROOT, {})
    assert version == "6\n"
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    files = [str(ROOT / "python" / "tests" / "apps" / name) for name in FILES]
    said = run_to_end(
        [python, "-m", "pytest", *files, "-q", "-p", "no:cacheprovider"],
        ROOT,
        {**kept, "PYTHONPATH": str(ROOT / "python")},
    )
    passed = re.search(r"(\d+) passed", said)
    assert passed is not None
    assert int(passed[1]) > 50
    assert "skipped" not in said
