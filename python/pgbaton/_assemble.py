"""Puts the install scripts together from the one source tree in sql/ and functions/.

Needs only the standard library: `python3 python/pgbaton/_assemble.py OUTDIR` works without a venv.
"""

from __future__ import annotations

import atexit
import hashlib
import re
import sys
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import TemporaryDirectory

ROLES_OF = {
    "internal": "",
    "queue": "pgbaton_operator",
    "producer": "pgbaton_producer",
    "worker": "pgbaton_worker",
    "operator": "pgbaton_operator",
    "monitor": "pgbaton_monitor",
    "stream": "pgbaton_monitor",
    "spark": "pgbaton_producer",
}
ALL_ROLES = "pgbaton_producer, pgbaton_worker, pgbaton_monitor, pgbaton_operator"

_CONTROL = "sql/pgbaton.control"
_RELEASES = "migrations/releases.txt"
_VERSION = re.compile(r"^default_version = '([^']+)'", re.MULTILINE)
_CREATE = re.compile(r"^create or replace (?:function|procedure) pgbaton\.(\w+)", re.MULTILINE)
_CALL = re.compile(r"\bpgbaton\.(\w+)\s*\(")
_OR_REPLACE = re.compile(r"^create or replace ", re.MULTILINE)


class SourceError(Exception):
    """The source tree breaks one of its own rules."""


def source_root() -> Path:
    """The checkout this file stands in, else the copy a wheel carries, or a zip."""
    here = Path(__file__).resolve().parent
    for root in (here.parents[1], here / "_sql"):
        if (root / _CONTROL).is_file():
            return root
    if __package__ and (resources.files(__package__) / "_sql").is_dir():
        return _unpacked(__package__)
    raise SourceError(f"no {_CONTROL} beside {here}")


@cache
def _unpacked(package: str) -> Path:
    """The same files outside of the zip that this is imported from, until the process ends."""
    folder = TemporaryDirectory(prefix="pgbaton-sql-")
    atexit.register(folder.cleanup)
    _unpack(resources.files(package) / "_sql", Path(folder.name))
    return Path(folder.name)


def _unpack(packed: Traversable, target: Path) -> None:
    for member in packed.iterdir():
        if member.is_dir():
            (target / member.name).mkdir()
            _unpack(member, target / member.name)
        else:
            (target / member.name).write_bytes(member.read_bytes())


def version(root: Path) -> str:
    found = _VERSION.search((root / _CONTROL).read_text())
    if not found:
        raise SourceError(f"{root / _CONTROL} has no default_version")
    return found[1]


def number(version: str) -> tuple[int, ...]:
    """A version to compare by; 0.2.0.dev0 counts as the 0.2.0 that it becomes."""
    return tuple(int(part) for part in version.split(".dev")[0].split("."))


def earlier_releases(root: Path) -> list[str]:
    """The releases that can be upgraded to this version, oldest first."""
    released = (root / _RELEASES).read_text().split() if (root / _RELEASES).exists() else []
    return [release for release in released if number(release) < number(version(root))]


def function_files(root: Path) -> list[Path]:
    """All function files by audience and name; each must define the function it is named for.

    Within an audience they may stand in rooms, folders by subject, which change nothing here.
    """
    folders = [root / "functions" / audience for audience in ROLES_OF]
    files = [f for folder in folders for f in sorted(folder.rglob("*.sql"), key=_name_of)]
    for file in files:
        names = _CREATE.findall(file.read_text())
        if names != [file.stem]:
            raise SourceError(
                f"{file.relative_to(root)} must create exactly pgbaton.{file.stem}, found: {names}"
            )
    strangers = set((root / "functions").rglob("*.sql")) - set(files)
    if strangers:
        raise SourceError(f"{min(strangers).relative_to(root)} is in no audience folder")
    return files


def audience_of(file: Path) -> str:
    """The top folder, which says who may call it."""
    return next(folder.name for folder in file.parents if folder.parent.name == "functions")


def _name_of(file: Path) -> str:
    return file.name


def callees_first(files: list[Path]) -> list[Path]:
    """The same files, callees before callers: PostgreSQL resolves a SQL body when it creates it."""
    by_name = {file.stem: file for file in files}
    ordered: dict[Path, None] = {}
    seen: set[Path] = set()

    def visit(file: Path) -> None:
        if file in seen:
            return
        seen.add(file)
        for name in _CALL.findall(file.read_text()):
            if name in by_name:
                visit(by_name[name])
        ordered[file] = None

    for file in files:
        visit(file)
    return list(ordered)


def grants(files: list[Path]) -> str:
    lines = [
        f"grant usage on schema pgbaton to {ALL_ROLES};",
        "revoke all on all routines in schema pgbaton from public;",
    ]
    for file in files:
        roles = ALL_ROLES if file.stem == "version" else ROLES_OF[audience_of(file)]
        if roles:
            lines.append(f"grant execute on routine pgbaton.{file.stem} to {roles};")
    return "\n".join(lines) + "\n"


def body(root: Path) -> str:
    """What the plain and the extension script share; the schema pgbaton must exist."""
    functions = function_files(root)
    wrap = root / "sql" / "wrap"
    replayed = sorted((root / "sql" / "replay").glob("*.sql"))
    grant_files = [f for f in replayed if f.name >= "90"]
    parts = [
        (wrap / "head.sql").read_text(),
        (wrap / "roles.sql").read_text(),
        *(f.read_text() for f in sorted((root / "sql" / "schema").glob("*.sql"))),
        *(f.read_text() for f in callees_first(functions)),
        *(f.read_text() for f in replayed if f not in grant_files),
        (wrap / "no_default_privileges.sql").read_text(),
        grants(functions),
        *(f.read_text() for f in grant_files),
    ]
    # A fresh install adopts nothing that somebody else made beforehand.
    text = _OR_REPLACE.sub("create ", "\n".join(parts))
    return text.replace("@version@", version(root))


def upgrade_body(root: Path, old: str) -> str:
    """What both upgrade scripts share; migrations first: functions may need what they make."""
    functions = function_files(root)
    wrap = root / "sql" / "wrap"
    parts = [
        (wrap / "head.sql").read_text(),
        (wrap / "roles.sql").read_text(),
        *(f.read_text() for f in migrations_since(root, old)),
        *(f.read_text() for f in callees_first(functions)),
        f"revoke all on all routines in schema pgbaton from {ALL_ROLES};\n",
        grants(functions),
        *(f.read_text() for f in sorted((root / "sql" / "replay").glob("*.sql"))),
    ]
    return "\n".join(parts).replace("@version@", version(root))


def migrations_since(root: Path, old: str) -> list[Path]:
    """The files of all releases after `old` up to this version, in the order they are run."""
    folders = [folder for folder in (root / "migrations").iterdir() if folder.is_dir()]
    wanted = [f for f in folders if number(old) < number(f.name) <= number(version(root))]
    ordered = sorted(wanted, key=lambda folder: number(folder.name))
    return [file for folder in ordered for file in sorted(folder.glob("*.sql"))]


def digest(root: Path) -> str:
    """Names this build: equal sources give an equal digest."""
    return hashlib.sha256(body(root).encode()).hexdigest()[:16]


def statements(root: Path) -> str:
    """The plain install without psql's commands and without begin and commit."""
    return "create schema pgbaton;\n" + body(root) + "\n" + _stamp(root)


def upgrade_statements(root: Path, old: str) -> str:
    """The plain upgrade from `old`, without psql's commands and without begin and commit."""
    guard = (root / "sql" / "wrap" / "upgrade_guard.sql").read_text().replace("@old@", old)
    return guard + upgrade_body(root, old) + "\n" + _stamp(root)


def _stamp(root: Path) -> str:
    return f"comment on schema pgbaton is 'pgbaton {version(root)} build {digest(root)}';\n"


def plain_script(statements: str) -> str:
    return "\\set ON_ERROR_STOP on\nbegin;\n" + statements + "commit;\n"


def extension_script(root: Path, body: str, command: str) -> str:
    guard = f'\\echo Use "{command}" to load this file. \\quit\n'
    return guard + body + "\n" + (root / "sql" / "wrap" / "extension_end.sql").read_text()


def write(root: Path, outdir: Path) -> None:
    """Writes the files of both routes, and of the upgrade from each earlier release."""
    outdir.mkdir(parents=True, exist_ok=True)
    new = version(root)
    (outdir / "install.sql").write_text(plain_script(statements(root)))
    (outdir / "pgbaton.control").write_text((root / _CONTROL).read_text())
    script = extension_script(root, body(root), "create extension pgbaton")
    (outdir / f"pgbaton--{new}.sql").write_text(script)
    for old in earlier_releases(root):
        plain = plain_script(upgrade_statements(root, old))
        (outdir / f"upgrade-from-{old}.sql").write_text(plain)
        script = extension_script(root, upgrade_body(root, old), "alter extension pgbaton update")
        (outdir / f"pgbaton--{old}--{new}.sql").write_text(script)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: _assemble.py OUTDIR")
    try:
        write(source_root(), Path(sys.argv[1]))
    except SourceError as error:
        sys.exit(str(error))
