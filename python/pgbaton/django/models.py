"""None with a table: jobs are pgbaton's. `Job` stands for them in the admin and in permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    Manager = models.Manager[Any]
else:
    Manager = models.Manager


class NoRows(Manager):
    """What reads all models, as `dumpdata` does, finds nothing."""

    def get_queryset(self) -> models.QuerySet[Any]:
        """Asks no database."""
        return super().get_queryset().none()


class Job(models.Model):
    """Has a permission, `pgbaton.view_job`, and a list in the admin."""

    id: models.BigAutoField[int, int] = models.BigAutoField(primary_key=True)

    objects = NoRows()

    class Meta:
        """No table."""

        managed = False
        default_permissions = ("view",)
        base_manager_name = "objects"
