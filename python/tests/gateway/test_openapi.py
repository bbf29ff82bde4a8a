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


# No schema says that a burst divides the rate, or that debounce is for who replaces.
CONFIG = """
[parameters]
"path.queue" = "keyval"

[[operations]]
include-name = "PUT /{queue}/api/queue/limits"
checks.positive_data_acceptance.expected-statuses = [200, 400, 401, 403, 404, 409]

[[operations]]
include-name = "POST /{queue}/api/queue/enqueue"
checks.positive_data_acceptance.expected-statuses = [200, 400, 401, 403, 404, 409]
"""


@pytest.mark.proof
@pytest.mark.timeout(900)
def test_schemathesis_finds_nothing(gateway: Served, tmp_path: Path) -> None:
    """All but /listen, whose answer has no end."""
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
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
    assert "Selected: 14/15" in done.stdout
