"""Writes docs/reference.md: every public function with its signature and comment, by audience."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from pgbaton import _assemble
from pgbaton.embedded import Server
from pgbaton.install import install

TITLES = {
    "queue": "Queues",
    "producer": "Producing",
    "worker": "Working",
    "operator": "Operating",
    "monitor": "Watching",
    "stream": "Streams of ended jobs",
    "spark": "Spark",
}
INTRO = """\
The caller must be a member of the role that its section names, or 42501 is raised. A member of
pgbaton_operator may call all functions. Pass optional arguments by name: `priority => 150`.

"Raises" names the errors that belong to a function. Besides, a call may raise PB009 where
[grants](operations.md#tenants) narrow roles to queues, 2202E for an array of several dimensions,
and 40001 in a transaction under REPEATABLE READ or SERIALIZABLE. [Errors](errors.md) says what
each of them means.
"""
FUNCTIONS = """
    select p.proname,
        pg_get_function_arguments(p.oid),
        pg_get_function_result(p.oid),
        obj_description(p.oid, 'pg_proc')
    from pg_catalog.pg_proc as p
    where p.pronamespace = 'pgbaton'::regnamespace
"""


def main() -> None:
    with TemporaryDirectory(prefix="pgbaton-reference-") as home:
        Path(home).chmod(0o755)  # the server may be another user
        with (
            Server(home=Path(home) / "server", durable=False) as server,
            psycopg.connect(server.dsn(), autocommit=True) as conn,
        ):
            install(conn)
            text = page(conn)
    (_assemble.source_root() / "docs" / "reference.md").write_text(text)


def page(conn: psycopg.Connection[Any]) -> str:
    """The whole page, of the functions that are installed there."""
    rows = {row[0]: row[1:] for row in conn.execute(FUNCTIONS)}
    root = _assemble.source_root()
    lines = ["# Reference", "", f"The functions of pgbaton {_assemble.version(root)}.", "", INTRO]
    audience = ""
    for file in _assemble.function_files(root):
        if _assemble.audience_of(file) == "internal":
            continue
        if _assemble.audience_of(file) != audience:
            audience = _assemble.audience_of(file)
            lines += [f"## {TITLES[audience]}", "", f"Role: {_assemble.ROLES_OF[audience]}", ""]
        lines += describe(file.stem, *rows[file.stem])
    return "\n".join(lines).rstrip() + "\n"


def describe(name: str, arguments: str, result: str | None, comment: str | None) -> list[str]:
    returns = f" returns {result}" if result else ""
    signature = f"pgbaton.{name}({arguments}){returns}"
    return [f"### {name}", "", "```sql", signature, "```", "", paragraphs(comment, arguments), ""]


def paragraphs(comment: str | None, arguments: str) -> str:
    """A paragraph for each line that begins with a parameter, or with what is raised."""
    names = "|".join(re.findall(r"(?:^|, )([a-z_]+) ", arguments) or ["no parameter"])
    parameter = rf"(?:{names})(?:, \w+)*(?: \([^)]*\))?: "
    return re.sub(rf"\n(?={parameter}|Raises )", "\n\n", comment or "")


if __name__ == "__main__":
    main()
