"""The model that stands for jobs in the admin. The database stays as it is."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Tells Django of the model."""

    dependencies = (("pgbaton", "0001_install"),)
    operations = (
        migrations.CreateModel(
            name="Job",
            fields=[("id", models.BigAutoField(primary_key=True, serialize=False))],
            options={
                "managed": False,
                "default_permissions": ("view",),
                "base_manager_name": "objects",
            },
        ),
    )
