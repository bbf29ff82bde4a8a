#!/usr/bin/env python3
"""Keeps what is about to be released, for the upgrade tests of all later versions: make freeze.

Writes python/tests/upgrade/releases/VERSION.tar.xz, the package with its SQL as a wheel has it, and
notes VERSION in releases.txt. VERSION is the one of sql/pgbaton.control without ".dev". May be
repeated until the release has its git tag. Needs only the standard library.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASES = ROOT / "migrations" / "releases.txt"
ARCHIVES = ROOT / "python" / "tests" / "upgrade" / "releases"
CONTROL = ROOT / "sql" / "pgbaton.control"
# The same layout as in pyproject.toml.
SOURCES = {
    "pgbaton": ("python/pgbaton", "**/*.py"),
    "pgbaton/_sql/sql": ("sql", "**/*"),
    "pgbaton/_sql/functions": ("functions", "**/*.sql"),
    "pgbaton/_sql/migrations": ("migrations", "**/*.sql"),
}

sys.path.insert(0, str(ROOT / "python" / "pgbaton"))

import _assemble  # noqa: E402


def freeze() -> Path:
    built_as = _assemble.version(ROOT)
    release = built_as.split(".dev")[0]
    tag = ["git", "-C", str(ROOT), "tag", "--list", f"v{release}"]
    if subprocess.run(tag, capture_output=True, text=True, check=True).stdout:
        sys.exit(f"v{release} is tagged: what is released stays as it is")

    ARCHIVES.mkdir(parents=True, exist_ok=True)
    archive = ARCHIVES / f"{release}.tar.xz"
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for name, file in sorted(members().items()):
            content = file.read_bytes()
            if file == CONTROL:
                content = content.replace(f"'{built_as}'".encode(), f"'{release}'".encode())
            # No times and no owners: equal sources give equal archives.
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))

    released = RELEASES.read_text().split() if RELEASES.exists() else []
    if release not in released:
        RELEASES.write_text("\n".join([*released, release]) + "\n")
    return archive


def members() -> dict[str, Path]:
    return {
        f"{place}/{file.relative_to(ROOT / folder)}": file
        for place, (folder, pattern) in SOURCES.items()
        for file in (ROOT / folder).glob(pattern)
        if file.is_file()
    }


if __name__ == "__main__":
    print(freeze().relative_to(ROOT))
