"""Upgrades pgbaton to the version of this package, which is 0.2.0 or a later one."""

from __future__ import annotations

from django.db import migrations

from pgbaton.django._migrating import InstallOrUpgrade


class Migration(migrations.Migration):
    """Not atomic: upgrading is a transaction of its own."""

    atomic = False
    dependencies = (("pgbaton", "0002_job"),)
    operations = (InstallOrUpgrade(),)
