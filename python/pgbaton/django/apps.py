"""The app: `pgbaton.django` in INSTALLED_APPS."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
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
        register_checks()


def register_checks() -> None:
    """Those of the framework, which `manage.py check` runs once somebody has imported them."""
    for module in ("django.tasks", "django_tasks.checks"):
        with suppress(ModuleNotFoundError):
            import_module(module)
            return


def create_queues(sender: AppConfig, using: str, plan: Any = None, **_: Any) -> None:
    """After `migrate`: the queues that backends of the setting TASKS name."""
    from pgbaton.django._queues import create_missing_queues

    create_missing_queues(using)
