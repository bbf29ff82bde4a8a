"""Wraps the prose of pages at 120 characters; with --check it only names those that need it.

    python python/docs/wrap.py [--check]

A paragraph is written anew when one of its lines is too long. Tables, headings, code, pictures and
comments stay as they are. What stands between backquotes is not taken apart.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 120
FOLDERS = ("", "docs", "examples", "functions", "migrations", "pgtap", "python/tests")
WRITTEN = {"reference.md", "states.md"}
"""Pages that other programs write."""
MARKDOWN = MarkdownIt("commonmark").enable("table")
ENTRY = re.compile(r" *(?:(?:[-*+]|\d+[.)]) +)?")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
MISREAD = re.compile(r" (?=(?:[-+*>#=]+|\d+[.)])(?: |$)|[|<#>=])")
"""What comes after it would be no prose at the beginning of a line."""
HELD = "\N{NO-BREAK SPACE}"


def pages() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (page for page in (ROOT / folder).glob("*.md") if page.name not in WRITTEN)


def paragraphs(text: str) -> list[tuple[int, int]]:
    """The first line of each paragraph, and the line behind it; the last one comes first."""
    found = [token.map for token in MARKDOWN.parse(text) if token.type == "paragraph_open"]
    return sorted(((first, end) for first, end in filter(None, found)), reverse=True)


def filled(lines: list[str]) -> list[str]:
    """A paragraph with its lines as long as they may be."""
    begin = ENTRY.match(lines[0])[0]  # type: ignore[index]
    text = " ".join([lines[0][len(begin) :], *(line.strip() for line in lines[1:])])
    text = CODE.sub(lambda code: code[0].replace(" ", HELD), MISREAD.sub(HELD, text))
    found = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(HELD, " ") for line in found]


def wrapped(text: str) -> str:
    """The page with its long paragraphs wrapped.

    Raises:
        AssertionError: it would not read as before.
    """
    lines = text.split("\n")
    for first, end in paragraphs(text):
        if any(len(line) > WIDTH for line in lines[first:end]):
            lines[first:end] = filled(lines[first:end])
    found = "\n".join(lines)
    assert MARKDOWN.render(found).split() == MARKDOWN.render(text).split()
    return found


def main() -> None:
    texts = {page: page.read_text("utf-8") for page in pages()}
    long = [page for page, text in texts.items() if wrapped(text) != text]
    names = "\n".join(str(page.relative_to(ROOT)) for page in long)
    if "--check" in sys.argv[1:] and long:
        sys.exit(f"{names}\nhave lines of more than {WIDTH} characters: run python/docs/wrap.py")
    for page in long:
        page.write_text(wrapped(texts[page]), "utf-8")
    if long:
        print(names)


if __name__ == "__main__":
    main()
