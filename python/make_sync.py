"""Writes python/pgbaton/_sync, the client without async, from python/pgbaton/_async.

Word by word: await goes, AsyncClient becomes Client, and so on, in docstrings too. Lines that end
with `# async only` are left out, and so are the files of ASYNC_ONLY. With --check it changes
nothing and fails if they differ.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "pgbaton"
SOURCE, TARGET = PACKAGE / "_async", PACKAGE / "_sync"
ASYNC_ONLY = {"__init__.py", "streams.py"}
WORDS = {
    "AbstractAsyncContextManager": "AbstractContextManager",
    "AsyncClient": "Client",
    "AsyncConnection": "Connection",
    "AsyncConnectionPool": "ConnectionPool",
    "AsyncCursor": "Cursor",
    "AsyncForeign": "Foreign",
    "AsyncIterator": "Iterator",
    "AsyncPool": "Pool",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "_async": "_sync",
    "asynccontextmanager": "contextmanager",
    "asyncio": "threading",
    "from asyncio import sleep": "from time import sleep",
    "several tasks": "threads",
}
WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")
LEFT_OUT = re.compile(r"^.*# async only\n|\b(?:async|await) ", re.MULTILINE)


def without_async(source: str) -> str:
    return WORD.sub(lambda word: WORDS[word[0]], LEFT_OUT.sub("", source))


def formatted(source: str, name: str) -> str:
    for command in (["check", "--fix-only", "--quiet", "--select", "I"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", name, "-"]
        source = subprocess.run(
            ruff, input=source, capture_output=True, text=True, check=True
        ).stdout
    return source


def generated() -> dict[Path, str]:
    init = '"""The client without async: written by `make sync` from `pgbaton._async`."""\n'
    return {TARGET / "__init__.py": init} | {
        TARGET / file.name: formatted(
            "# Written by make sync from _async: change it there.\n"
            + without_async(file.read_text("utf-8")),
            str(TARGET / file.name),
        )
        for file in sorted(SOURCE.glob("*.py"))
        if file.name not in ASYNC_ONLY
    }


def main() -> int:
    wanted = generated()
    there = {file: file.read_text("utf-8") for file in TARGET.glob("*.py")}
    if "--check" in sys.argv:
        differ = [file for file in wanted.keys() | there if wanted.get(file) != there.get(file)]
        for file in sorted(differ):
            print(f"{file} is not what make sync writes from {SOURCE}", file=sys.stderr)
        return bool(differ)
    TARGET.mkdir(exist_ok=True)
    for file in there.keys() - wanted:
        file.unlink()
    for file, text in wanted.items():
        file.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
