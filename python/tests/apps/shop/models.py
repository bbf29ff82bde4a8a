"""One model."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """What jobs are about."""

    note = models.TextField(default="")
