"""docs/cli.md says what the commands say themselves."""

from __future__ import annotations

import importlib.util
import re
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


def test_every_option_of_the_page_is_taken(run: Command) -> None:
    """Under all names that the page has for it, and by that command."""
    sections = re.split(r"^####? pgbaton (.*)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    named = [
        [*command.split(), "--help", option]
        for command, text in zip(sections[::2], sections[1::2], strict=True)
        for options in re.findall(r"^\| `(--?\w.*?)` \|", text, re.MULTILINE)
        for option in re.findall(r"(?<!\S)--?\w[\w-]*", options)
    ]
    assert ["audit", "--help", "--job"] in named
    assert [words for words in named if "No such option" in run(*words).output] == []
    assert "No such option" in run("audit", "--help", "--job-id").output
