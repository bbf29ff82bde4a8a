"""Pages can be read: no paragraph of more than 100 words, and no letters of specifications."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_named_files import BLOCK, PAGES, ROOT

LONGEST = 100
# Written from comments of functions; written on a day, and not changed afterwards.
OTHERS = {"CHANGELOG.md", "design-log.md", "performance-log.md", "reference.md", "spark-log.md"}
READ = [page for page in PAGES if page.name not in OTHERS]
LETTERS = re.compile(r"\bspecification [a-e]\b", re.IGNORECASE)


def paragraphs(text: str) -> Iterator[str]:
    """Prose: each entry of a list by itself, without tables, headings, code and addresses."""
    for part in re.split(r"\n\s*\n", BLOCK.sub("", text)):
        for entry in re.split(r"\n(?=(?:[-*]|\d+\.) )", part.strip()):
            if not entry.startswith(("|", "#", "<", "    ")):
                yield re.sub(r"\]\([^)]*\)", "]", entry)


@pytest.mark.parametrize("page", READ, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_paragraph_is_long(page: Path) -> None:
    text = page.read_text("utf-8")
    assert [entry for entry in paragraphs(text) if len(entry.split()) > LONGEST] == []


def test_a_long_paragraph_is_noticed() -> None:
    found = [
        len(entry.split()) for entry in paragraphs("# A\n\n" + "word " * 101 + "\n- one\n- two")
    ]
    assert found == [101, 2, 2]


def test_users_need_not_know_the_letters_of_specifications() -> None:
    """docs/specifications.md is where they stand."""
    pages = [page for page in READ if page.name != "specifications.md"]
    files = [*ROOT.glob("python/pgbaton/**/*.py"), *ROOT.glob("functions/**/*.sql"), *pages]
    files += [*ROOT.glob("sql/**/*.sql"), *(f for f in ROOT.glob("examples/*") if f.is_file())]
    texts = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}
    assert [name for name, text in texts.items() if LETTERS.search(text)] == []
