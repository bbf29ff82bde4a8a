"""What a release consists of: versions, files, and what is refused as unfinished."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from pgbaton import _assemble

ROOT = _assemble.source_root()


@pytest.fixture
def dist(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "python"))
    return importlib.import_module("dist")


@pytest.mark.parametrize(
    ("version", "as_pgxn"),
    [("0.1.0", "0.1.0"), ("0.1.0.dev0", "0.1.0-dev0"), ("1.2.3rc1", "1.2.3-rc1")],
)
def test_versions_of_pgxn(dist: ModuleType, version: str, as_pgxn: str) -> None:
    assert dist.semantic(version) == as_pgxn
    found = json.loads(dist.meta(version))
    assert found["version"] == found["provides"]["pgbaton"]["version"] == as_pgxn
    assert found["release_status"] == ("stable" if version == as_pgxn else "unstable")
    assert found["provides"]["pgbaton"]["file"] == f"pgbaton--{version}.sql"


def test_the_archive_for_pgxn(
    dist: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dist, "DIST", tmp_path)
    version = _assemble.version(ROOT)
    with zipfile.ZipFile(dist.write_pgxn(version)) as archive:
        names = {name.partition("/")[2] for name in archive.namelist()}
    assert {
        "META.json",
        "Makefile",
        "README.md",
        "docs/reference.md",
        "install.sql",
        "pgbaton.control",
        f"pgbaton--{version}.sql",
    } <= names


def test_what_is_unfinished_is_refused(dist: ModuleType) -> None:
    found = "\n".join(dist.what_is_unfinished("9.9.9.dev0"))
    assert "pgbaton.control says 9.9.9.dev0" in found
    assert "CHANGELOG.md has no section [9.9.9.dev0]" in found
    assert "is not frozen" in found


def test_a_release_that_was_frozen_before_a_change_is_noticed(
    dist: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dist.freeze, "ARCHIVES", tmp_path)
    monkeypatch.setattr(dist.freeze, "RELEASES", tmp_path / "releases.txt")
    archive = dist.freeze.freeze()
    version = archive.name.removesuffix(".tar.xz")
    assert dist.is_frozen_as_it_is(version)
    members = dist.freeze.members() | {"pgbaton/new.py": Path(__file__)}
    monkeypatch.setattr(dist.freeze, "members", lambda: members)
    assert not dist.is_frozen_as_it_is(version)


def test_the_sdist_takes_all_of_the_tree() -> None:
    """Else tests or pages would be missing where somebody builds from it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    taken = project["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    ignored = {".git", ".venv", "build", "dist", "spark-warehouse", "metastore_db", "derby.log"}
    ignored |= {".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "pyproject.toml"}
    here = {path.name for path in ROOT.iterdir()} - ignored - {"PKG-INFO"}
    assert here == set(taken)


def test_the_compose_file_runs_commands_that_are_there() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    assert services["install"]["command"] == ["install"]
    assert services["maintenance"]["command"] == ["maintain", "--every", "60"]
    assert all(
        port.startswith("127.0.0.1:")
        for service in services.values()
        for port in service.get("ports", [])
    )
    text = (ROOT / "Containerfile").read_text("utf-8")
    [extras] = re.findall(r"\$\{wheel\}\[([\w,]+)\]", text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    assert set(re.findall(r"^ENTRYPOINT \[\"(\w+)\"\]", text, re.MULTILINE)) == {"pgbaton"}
