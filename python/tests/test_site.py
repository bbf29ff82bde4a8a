"""The site of documentation is complete, has no dead link and needs no network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pgbaton import _assemble

ROOT = _assemble.source_root()
OF_A_NETWORK = re.compile(
    r"""<(?:script|img|iframe)[^>]+src="(?:https?:)?//|<link[^>]+href="(?:https?:)?//"""
    r"""|url\(["']?(?:https?:)?//|@import ["'](?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With --strict a page outside the navigation or a dead link or anchor fails the build."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "site_pages", ROOT / "python" / "docs" / "site_pages.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_there(site: Path) -> None:
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert pages | {"index", "changelog", "license"} <= {page.stem for page in site.glob("*.html")}
    home = (site / "index.html").read_text("utf-8")
    assert {page for page in pages if f'href="{page}.html' not in home} == set()


def test_the_docstrings_are_in_it(site: Path) -> None:
    calls = (site / "python-reference.html").read_text("utf-8")
    for name in (
        "Client.enqueue_job",
        "AsyncClient.stream_jobs",
        "Worker.handler",
        "spark.enqueue",
    ):
        assert f'id="pgbaton.{name}"' in calls
    results = (site / "python-results.html").read_text("utf-8")
    for name in ("models.JobInfo.state", "errors.LeaseLost"):
        assert f'id="pgbaton.{name}"' in results


def test_nothing_is_loaded_from_a_network(site: Path) -> None:
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > 15
    assert [file.name for file in files if OF_A_NETWORK.search(file.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://unpkg.com/x.js">',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "a { background: url(https://x.example/a.png) }",
        '@import "https://x.example/a.css";',
    ],
)
def test_what_would_be_loaded_from_a_network_is_noticed(text: str) -> None:
    assert OF_A_NETWORK.search(text)


def test_links_of_pages_of_the_root_folder(hook: ModuleType) -> None:
    text = "[a](docs/cli.md#b) [c](CHANGELOG.md) [d](https://x.example) [e](examples) ![f](g.svg)"
    assert hook.with_links_of_the_site(text) == (
        "[a](cli.md#b) [c](changelog.md) [d](https://x.example) e ![f](g.svg)"
    )
