"""What Django has noted as applied stays what it was: migrations of a release never change."""

from __future__ import annotations

import ast
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from frozen import HERE as UPGRADE

import pgbaton

PLACE = "pgbaton/django/migrations/"
MIGRATIONS = Path(pgbaton.__file__).parent / "django" / "migrations"
MODEL = '''
"""A model."""
class Migration(migrations.Migration):
    """Says so."""
    operations = (migrations.CreateModel("Job", options={"managed": False}),)
'''


def of_release(archive: Path) -> dict[str, str]:
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            name = member.name.removeprefix(PLACE)
            if name != member.name and name[0].isdigit() and (file := tar.extractfile(member)):
                found[name] = file.read().decode()
    return found


def changed(released: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names of migrations that do something else than they did, or that are gone."""
    return [name for name in released if name not in now or code(released[name]) != code(now[name])]


def code(source: str) -> str:
    """What is carried out: no comments, no docstrings, no layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


@pytest.mark.parametrize(
    "archive", sorted((UPGRADE / "releases").glob("*.tar.xz")), ids=lambda path: path.name
)
def test_a_released_migration_stays_as_it_was(archive: Path) -> None:
    released = of_release(archive)
    assert released
    now = {file.name: file.read_text("utf-8") for file in MIGRATIONS.glob("[0-9]*.py")}
    assert changed(released, now) == [], (
        "applications have noted these as applied, so they would not see the change: add another "
        "migration (or run make freeze, if the release has no tag yet)"
    )


def test_what_counts_as_changed() -> None:
    comment = MODEL.replace("A model.", "The model.").replace("Says", "# why\n    Tells")
    comment = comment.replace("    operations", "    # a comment\n    operations")
    assert changed({"1": MODEL}, {"1": comment, "2": MODEL}) == []
    assert changed({"1": MODEL}, {"1": MODEL.replace("False", "True")}) == ["1"]
    assert changed({"1": MODEL}, {"1": MODEL.replace("Job", "Jobs")}) == ["1"]
    assert changed({"1": MODEL}, {"2": MODEL}) == ["1"]
