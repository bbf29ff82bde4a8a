"""Pages can be read: no paragraph of more than 100 words, and no letters of specifications."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from test_named_files import OF_TODAY, PAGES, ROOT

LONGEST = 100
MARKDOWN = MarkdownIt("commonmark").enable("table")
LETTERS = re.compile(r"\bspecification [a-e]\b", re.IGNORECASE)


def paragraphs(text: str) -> Iterator[str]:
    """Prose: each entry of a list by itself, without tables, headings, code and addresses."""
    for before, token in pairwise(MARKDOWN.parse(text)):
        if before.type == "paragraph_open":
            yield re.sub(r"\]\([^)]*\)", "]", token.content)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_paragraph_is_long(page: Path) -> None:
    text = page.read_text("utf-8")
    assert [entry for entry in paragraphs(text) if len(entry.split()) > LONGEST] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# A\n" + "word " * 101 + "\n- one\n- two\n\n  and three", [101, 1, 1, 2]),
        ("1. one\n   - " + "word " * 101, [1, 101]),
        ("[one](http://an address)", [1]),
        ("# A\n| a | b |\n|---|---|\n| word | " + "word " * 101 + "|", []),
        ("```\n" + "word " * 101 + "\n```", []),
    ],
)
def test_what_a_paragraph_is(text: str, words: list[int]) -> None:
    assert [len(entry.split()) for entry in paragraphs(text)] == words


def test_users_need_not_know_the_letters_of_specifications() -> None:
    """docs/specifications.md is where they stand."""
    pages = [page for page in OF_TODAY if page.name != "specifications.md"]
    files = [*ROOT.glob("python/pgbaton/**/*.py"), *ROOT.glob("functions/**/*.sql"), *pages]
    files += [*ROOT.glob("sql/**/*.sql"), *(f for f in ROOT.glob("examples/*") if f.is_file())]
    texts = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}
    assert [name for name, text in texts.items() if LETTERS.search(text)] == []
