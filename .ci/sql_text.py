"""What sqlfluff does not see, as a function's body is one string to it; part of `make lint`.

Length of lines, blanks at their ends, tabs, the case of keywords and the indentation inside $$,
in comments and in the pgTAP files; and the length of functions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXCEPTIONS = ROOT / ".ci" / "long_functions.txt"
LONGEST_LINE = 120
# A pgTAP file has the row of a table, or what is expected, in one line.
LONGEST_LINE_OF_TESTS = 200
LONGEST_BODY = 40
BODY = re.compile(r"^as \$\$\n(.*?)^\$\$;", re.MULTILINE | re.DOTALL)
KEYWORDS = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|JOIN|BEGIN|END|IF|THEN|ELSE|LOOP|RETURN|DECLARE"
    r"|PERFORM|RAISE|CREATE|FUNCTION|AND|OR|NOT|NULL|VALUES|INTO|ORDER BY|GROUP BY|LIMIT)\b"
)
TEXTS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\"[^\"]*\"")


def without_texts(source: str) -> str:
    """The source with its literals and comments crossed out, line for line."""
    return TEXTS.sub(lambda text: re.sub(r"[^\n]", "x", text[0]), source)


def long_lines(path: Path, source: str) -> Iterator[str]:
    is_test = path.parts[0] == "pgtap"
    longest = LONGEST_LINE_OF_TESTS if is_test else LONGEST_LINE
    for number, line in enumerate(source.splitlines(), start=1):
        if len(line) > longest and not (is_test and line.count("|") > 5):
            yield f"{path}:{number}: {len(line)} columns, at most {longest}"


def wrong_lines(path: Path, source: str) -> Iterator[str]:
    for number, line in enumerate(source.splitlines(), start=1):
        if line != line.rstrip():
            yield f"{path}:{number}: blanks at the end of the line"
        if "\t" in line:
            yield f"{path}:{number}: a tab"


def wrong_words(path: Path, source: str) -> Iterator[str]:
    for number, line in enumerate(without_texts(source).splitlines(), start=1):
        if found := KEYWORDS.search(line):
            yield f"{path}:{number}: {found[0]} is written in lower case"


def wrong_bodies(path: Path, source: str) -> Iterator[str]:
    """Indentation: a step is four columns."""
    for body in BODY.finditer(source):
        first = source[: body.start(1)].count("\n") + 1
        blank = without_texts(body[1])
        for number, line in enumerate(blank.splitlines(), start=first):
            indent = len(line) - len(line.lstrip())
            if line.strip() and indent % 4:
                yield f"{path}:{number}: indented by {indent}, not by a multiple of 4"


def exceptions() -> dict[str, int]:
    lines = EXCEPTIONS.read_text("utf-8").splitlines()
    rows = [line.split(maxsplit=2) for line in lines if line and not line.startswith("#")]
    return {name: int(limit) for name, limit, _ in rows}


def wrong_lengths(sources: dict[Path, str], limits: dict[str, int]) -> Iterator[str]:
    known = set()
    for path, source in sources.items():
        length = sum(body[1].count("\n") for body in BODY.finditer(source))
        limit = limits.get(path.stem, LONGEST_BODY)
        if length > limit:
            yield f"{path}: {length} lines, at most {limit}: split it or say why not in .ci"
        if length > LONGEST_BODY:
            known.add(path.stem)
    for name in sorted(limits.keys() - known):
        yield f"{EXCEPTIONS.name}: {name} has at most {LONGEST_BODY} lines by now"


def wrong(sources: dict[Path, str], limits: dict[str, int]) -> list[str]:
    found = []
    for path, source in sources.items():
        found += [*long_lines(path, source), *wrong_lines(path, source), *wrong_words(path, source)]
        if path.parts[0] == "functions":
            found += wrong_bodies(path, source)
    functions = {path: text for path, text in sources.items() if path.parts[0] == "functions"}
    return [*found, *wrong_lengths(functions, limits)]


def main() -> int:
    files = [
        *ROOT.glob("functions/**/*.sql"),
        *ROOT.glob("sql/**/*.sql"),
        *ROOT.glob("migrations/**/*.sql"),
        *(f for f in ROOT.glob("pgtap/**/*.[ps]*") if f.suffix in (".pg", ".sql")),
    ]
    sources = {
        file.relative_to(ROOT): file.read_text("utf-8")
        for file in sorted(files)
        if "vendor" not in file.parts
    }
    found = wrong(sources, exceptions())
    print("\n".join(found) or f"{len(sources)} SQL files are clean inside and outside of bodies")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
