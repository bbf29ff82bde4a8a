"""version, install, upgrade, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgbaton import install as installer
from pgbaton._extras import extra
from pgbaton._spark_zip import write_zip
from pgbaton.cli._errors import fail, say
from pgbaton.cli._io import Dsn, Yes, confirm


def note_outcome(outcome: installer.Outcome) -> None:
    said = {
        "installed": f"installed pgbaton {installer.version()}",
        "unchanged": f"pgbaton {installer.version()} is installed already",
        "upgraded": f"upgraded to pgbaton {installer.version()}",
        "replaced": f"dropped pgbaton with all its jobs, installed {installer.version()}",
    }
    say(said[outcome])


def version() -> None:
    """Print the version."""
    print(installer.version())


def install(
    dsn: Dsn = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Drop the schema pgbaton with all its jobs first.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Install the schema pgbaton in one transaction."""
    if replace:
        confirm("Drop the schema pgbaton with all its jobs?", yes)
    note_outcome(installer.install(dsn, replace=replace))


def upgrade(dsn: Dsn = "") -> None:
    """Bring an earlier release to this version in one transaction; jobs stay."""
    note_outcome(installer.upgrade(dsn))


def spark_zip(
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("pgbaton-spark.zip"),
) -> None:
    """Write this package as one file for `spark-submit --py-files`."""
    size = write_zip(out)
    say(f"wrote {out}, {size:,} bytes; the workers also need psycopg and pyarrow")


def demo(
    sample: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many of the 336,776 flights.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report: Parquet and a plot.")] = Path(
        "pgbaton-demo"
    ),
) -> None:
    """Push a year of flights through Spark and the queue, in a database made anew: pgbaton_demo."""
    with extra("demo"):
        from pgbaton.demo import Stuck
        from pgbaton.demo.run import run

        try:
            passed = run(sample, Path(out))
        except Stuck as error:
            fail(str(error))
    raise typer.Exit(0 if passed else 1)
