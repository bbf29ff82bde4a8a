"""Installs pgbaton, or upgrades it to the version of this package.

Each later release has a migration like this one, so that `migrate` upgrades.
"""

from __future__ import annotations

from django.db import migrations

from pgbaton.django._migrating import InstallOrUpgrade


class Migration(migrations.Migration):
    """Not atomic: installing is a transaction of its own."""

    atomic = False
    operations = (InstallOrUpgrade(),)
