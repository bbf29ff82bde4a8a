"""Installs the schema pgbaton into a database, or upgrades it: one transaction of plain SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import psycopg
from psycopg.rows import tuple_row

from pgbaton import _assemble

Outcome = Literal["installed", "unchanged", "replaced", "upgraded"]

_STAMP = re.compile(r"^pgbaton (\S+) build (\w+)")
_LOOK = """
    select obj_description(n.oid, 'pg_namespace'), e.extversion
    from pg_catalog.pg_namespace as n
    left join pg_catalog.pg_extension as e on e.extname = 'pgbaton'
    where n.nspname = 'pgbaton'
"""


class InstallError(RuntimeError):
    """The schema is there, but is not what was to be installed; the message is one sentence."""


@dataclass(frozen=True)
class Installed:
    """What a database has; an extension has no build, a schema of somebody else's no version."""

    version: str
    build: str
    is_extension: bool


def version() -> str:
    return _assemble.version(_assemble.source_root())


def build() -> str:
    """The digest of the scripts that this package installs."""
    return _assemble.digest(_assemble.source_root())


def installed(conn: psycopg.Connection[Any]) -> Installed | None:
    with conn.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(_LOOK).fetchone()
    if row is None:
        return None
    comment, extension_version = row
    if extension_version is not None:
        return Installed(extension_version, "", is_extension=True)
    stamp = _STAMP.match(comment or "")
    return Installed(stamp[1], stamp[2], False) if stamp else Installed("", "", False)


def install(target: psycopg.Connection[Any] | str, *, replace: bool = False) -> Outcome:
    """Installs if there is nothing yet; `replace` drops what is there, with all its jobs, first.

    Runs in a transaction of its own, so a connection must not be inside one.
    """
    with _alone(target) as conn:
        found = installed(conn)
        if found and not replace:
            _require_same(found)
            return "unchanged"
        if found:
            _drop(conn, found)
        # Without parameters psycopg sends the text as it is: many statements, no % expansion.
        conn.execute(_assemble.statements(_assemble.source_root()).encode())
    return "replaced" if found else "installed"


def upgrade(target: psycopg.Connection[Any] | str) -> Outcome:
    """Brings an earlier release to this version; jobs stay, and workers may go on.

    Runs in a transaction of its own, so a connection must not be inside one. It waits at most
    five seconds for each lock; then nothing was changed and it may be tried again.

    Args:
        target (psycopg.Connection | str): a connection, or a DSN.

    Returns:
        Outcome: upgraded, or unchanged when this version is installed already.

    Raises:
        InstallError: there is nothing to upgrade, an extension, a newer version, or one that
            was never released.
        psycopg.errors.LockNotAvailable: a long transaction is in the way.
    """
    with _alone(target) as conn:
        found = installed(conn)
        if found is None:
            raise InstallError("pgbaton is not installed in this database: run pgbaton install")
        if found.is_extension:
            raise InstallError(
                "pgbaton is an extension here: make install, then alter extension pgbaton update"
            )
        if found.version not in _assemble.earlier_releases(_assemble.source_root()):
            _require_same(found)
            return "unchanged"
        root = _assemble.source_root()
        conn.execute(_assemble.upgrade_statements(root, found.version).encode())
    return "upgraded"


@contextmanager
def _alone(target: psycopg.Connection[Any] | str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction in which nobody else installs or upgrades."""
    if isinstance(target, str):
        with psycopg.connect(target, autocommit=True) as conn, _alone(conn):
            yield conn
        return
    if target.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raise InstallError("install needs a connection that is not inside a transaction")
    with target.transaction():
        # Two installers at once: the second one waits, then sees what the first one made.
        target.execute("select pg_advisory_xact_lock(hashtextextended('pgbaton.install', 0))")
        yield target


def _require_same(found: Installed) -> None:
    if not found.version:
        raise InstallError("a schema named pgbaton exists that pgbaton did not make")
    if found.version in _assemble.earlier_releases(_assemble.source_root()):
        how = "alter extension pgbaton update" if found.is_extension else "run pgbaton upgrade"
        raise InstallError(f"version {found.version} is installed and this is {version()}: {how}")
    if _assemble.number(found.version) > _assemble.number(version()):
        raise InstallError(
            f"version {found.version} is installed, which is newer than this, {version()}: "
            "there is no way back, use the package of that version"
        )
    if found.version != version():
        raise InstallError(
            f"version {found.version} is installed and this is {version()}: "
            "there is no upgrade between them, --replace drops the schema with all jobs"
        )
    if not found.is_extension and found.build != build():
        raise InstallError(
            f"another build of {found.version} is installed: "
            "--replace drops the schema with all jobs and installs this one"
        )


def _drop(conn: psycopg.Connection[Any], found: Installed) -> None:
    if found.is_extension:
        raise InstallError("pgbaton is an extension here: use drop extension and create extension")
    if not found.version:
        raise InstallError("a schema named pgbaton exists that pgbaton did not make")
    conn.execute("drop schema pgbaton cascade")
