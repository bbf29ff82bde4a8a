"""The OpenAPI document: of the endpoints that are there, and true by what schemathesis tries."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from serving import Served

from pgbaton import _assemble
from pgbaton.http import _queue


def test_it_lists_the_endpoints_that_are_there(gateway: Served) -> None:
    listed = {
        (path, method.upper())
        for path, item in gateway.get("/openapi.json")["paths"].items()
        for method in item
        if method != "parameters"
    }
    there = {
        (route.path, method)
        for route in _queue.ROUTES
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert listed == there


def test_the_guide_lists_them_too() -> None:
    page = (_assemble.source_root() / "docs" / "http.md").read_text()
    listed = set(re.findall(r"^\| `(\w+) (/[^`?]*)", page, re.M))
    there = {
        (method, route.path.removeprefix(_queue.API).replace("{id}", "ID"))
        for route in _queue.ROUTES
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert listed == there


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_schemathesis_finds_nothing(gateway: Served, tmp_path: Path) -> None:
    """All but /listen, whose answer has no end."""
    config = tmp_path / "schemathesis.toml"
    config.write_text('[parameters]\n"path.queue" = "keyval"\n')
    done = subprocess.run(
        [
            Path(sys.executable).with_name("st"), "--config-file", config, "run",
            gateway.url + "/openapi.json", "--exclude-path-regex", "/listen$",
            "--max-examples", "50", "--generation-deterministic", "--warnings", "off",
            "--generation-allow-x00", "false",  # a value may be anything that jsonb can store
        ],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "Selected: 12/13" in done.stdout
