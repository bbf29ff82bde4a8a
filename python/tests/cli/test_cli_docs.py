"""docs/cli.md says what the commands say themselves."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from commands import Command

from pgbaton import _assemble
from pgbaton.cli._app import COMMANDS, GROUPS

ROOT = _assemble.source_root()
PAGE = ROOT / "docs" / "cli.md"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_cli", ROOT / "python" / "docs" / "cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(generator: ModuleType) -> None:
    text = PAGE.read_text()
    assert generator.page(text) == text, "run make docs"


def test_every_command_has_help(run: Command) -> None:
    words = [[c] for c in COMMANDS] + [[g, c] for g, (_, part) in GROUPS.items() for c in part]
    for *group, command in words:
        name = command.__name__.rstrip("_").replace("_", "-")
        said = run.out(*group, name, "--help")
        assert str(command.__doc__).split(".")[0][:40] in said
