"""This package as one file that Spark ships to its workers with `--py-files`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pgbaton._assemble import source_root

# The earliest that a zip file can say: equal sources give equal files.
EPOCH = (1980, 1, 1, 0, 0, 0)
SQL_FOLDERS = ("sql", "functions", "migrations")


def write_zip(file: Path) -> int:
    """Writes the package, with the SQL that it installs, and without what it depends on.

    Args:
        file (Path): replaced if it exists.

    Returns:
        int: its size in bytes.
    """
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, path in sorted(_members()):
            archive.writestr(ZipInfo(name, EPOCH), path.read_bytes(), ZIP_DEFLATED)
    return file.stat().st_size


def _members() -> Iterator[tuple[str, Path]]:
    package, root = Path(__file__).resolve().parent, source_root()
    for path in package.rglob("*"):
        inside = path.relative_to(package)
        if path.is_file() and not {"__pycache__", "_sql"} & set(inside.parts):
            yield f"pgbaton/{inside.as_posix()}", path
    for folder in SQL_FOLDERS:
        for path in (root / folder).rglob("*"):
            if path.is_file():
                yield f"pgbaton/_sql/{path.relative_to(root).as_posix()}", path
