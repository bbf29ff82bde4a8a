"""What the migrations do."""

from __future__ import annotations

from typing import Any

from django.db import router
from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.operations.base import Operation

from pgbaton import _assemble, install
from pgbaton.django._connections import problem_of


class InstallOrUpgrade(Operation):
    """Brings the database to the version of this package; databases that are no PostgreSQL stay
    as they are."""

    reduces_to_sql = False
    reversible = True

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Models are not concerned."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        wrapper = schema_editor.connection
        if wrapper.vendor != "postgresql" or not router.allow_migrate(wrapper.alias, app_label):
            return
        if problem := problem_of(wrapper.alias):
            raise install.InstallError(problem)
        wrapper.ensure_connection()
        install_or_upgrade(wrapper.connection)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        raise IrreversibleError(
            "this would drop all jobs: if you want that, run drop schema pgbaton cascade, then"
            " migrate pgbaton zero --fake"
        )

    def describe(self) -> str:
        return "Install or upgrade the schema pgbaton"


def install_or_upgrade(connection: Any) -> None:
    found = install.installed(connection)
    earlier = _assemble.earlier_releases(_assemble.source_root())
    if found and not found.is_extension and found.version in earlier:
        install.upgrade(connection)
    elif not found:
        install.install(connection)
    elif found.version != install.version():
        install.install(connection)  # says what is wrong
