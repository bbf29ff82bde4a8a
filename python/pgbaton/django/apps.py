"""The app: `pgbaton.django` in INSTALLED_APPS."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PgbatonConfig(AppConfig):
    """Installs pgbaton with its first migration, and creates the queues of the setting TASKS."""

    name = "pgbaton.django"
    label = "pgbaton"
    verbose_name = "pgbaton"

    def ready(self) -> None:
        post_migrate.connect(create_queues, sender=self)


def create_queues(sender: AppConfig, using: str, plan: Any = None, **_: Any) -> None:
    """After `migrate`: the queues that backends of the setting TASKS name."""
    from pgbaton.django._queues import create_missing_queues

    create_missing_queues(using)
