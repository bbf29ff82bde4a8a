"""Every path, picture, function and make target that a page names is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from pgbaton import _assemble

ROOT = _assemble.source_root()
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("functions", "migrations", "pgtap")),
    ROOT / "python" / "tests" / "README.md",
]
# What these say was true on a day and is not changed afterwards.
OF_THEIR_DAY = {
    "CHANGELOG.md",
    "design-log.md",
    "performance-log.md",
    "spark-log.md",
}
OF_TODAY = [page for page in PAGES if page.name not in OF_THEIR_DAY]
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build", "dist"} | {".ci"}
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# Ends of names of roles.
OF_OTHERS = {"_monitor", "_operator"}


@cache
def words_of_the_code() -> set[str]:
    """What is defined or called anywhere in the tree: functions, columns, parameters."""
    files = [
        *ROOT.glob("functions/**/*.sql"),
        *ROOT.glob("sql/**/*.sql"),
        *ROOT.glob("python/**/*.py"),
        *ROOT.glob("pgtap/**/*.p[yg]"),
        *ROOT.glob("bench/**/*.py"),
        *ROOT.glob("examples/**/*"),
    ]
    files = [file for file in files if file.is_file() and file.name != Path(__file__).name]
    # Beside the examples stands what running them compiled.
    texts = [file.read_text("utf-8") for file in files if file.suffix != ".pyc"]
    return set(re.findall(r"\w+", "\n".join(texts))) | {file.stem for file in files}


def prose(page: Path) -> str:
    return BLOCK.sub("", page.read_text("utf-8"))


def is_path(code: str) -> bool:
    first = code.split("/")[0]
    return "/" in code and first in FOLDERS and re.fullmatch(r"[\w./*-]+", code) is not None


def missing_paths(text: str, page: Path) -> list[str]:
    named = [code for code in CODE.findall(text) if is_path(code)]
    bad = [
        path for path in named
        if not any(ROOT.glob(path.rstrip("/"))) and "NAME" not in path
    ]  # fmt: skip
    if page.parent == ROOT or page.name == "README.md":
        links = [link for link in LINK.findall(text) if "://" not in link]
        bad += [link for link in links if not (page.parent / link).exists()]
    return bad


def missing_functions(text: str) -> list[str]:
    """Names with an underscore in front, and pgbaton.name(, that nothing is called."""
    named = set(re.findall(r"`(_[a-z]\w+)(?:\([^`]*\))?`", text))
    named |= set(re.findall(r"\bpgbaton\.(\w+)\(", text))
    return sorted(named - words_of_the_code() - OF_OTHERS)


def missing_targets(text: str) -> list[str]:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    return sorted(set(re.findall(r"`make (?:-s )?([a-z-]+)[^`]*`", text)) - targets)


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    text = prose(page)
    assert missing_paths(text, page) == []
    assert missing_functions(text) == []
    assert missing_targets(text) == []


def test_every_picture_is_shown() -> None:
    texts = [page.read_text("utf-8") for page in PAGES]
    pictures = [*(ROOT / "docs").glob("*.svg"), *(ROOT / "docs" / "images").iterdir()]
    assert [p.name for p in pictures if not any(p.name in text for text in texts)] == []


def test_the_roads_of_the_architecture_name_functions() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    roads = text.split("## The roads of a job")[1].split("\n## ")[0]
    named = re.findall(r"`([a-z]+/_?\w+)`", roads)
    files = {f"{f.parent.name}/{f.stem}" for f in _assemble.function_files(ROOT)}
    assert len(named) > 20
    assert [name for name in named if name not in files] == []


def test_the_examples_of_style_are_in_the_tree() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    examples = re.findall(r"^```\w+\n(?:--|#) (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for path, body in examples:
        assert body.strip() in (ROOT / path).read_text("utf-8")


def test_what_is_missing_is_noticed() -> None:
    page = ROOT / "README.md"
    assert missing_paths("`docs/nowhere.md` [a](docs/none.md)", page) == [
        "docs/nowhere.md",
        "docs/none.md",
    ]
    assert missing_functions("`_not_there` and `pgbaton.no_such()`") == ["_not_there", "no_such"]
    assert missing_targets("`make nothing`") == ["nothing"]
