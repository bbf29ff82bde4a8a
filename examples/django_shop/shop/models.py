"""Orders."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """What a customer ordered."""

    email = models.EmailField()
    is_confirmed = models.BooleanField(default=False)
    steps = models.JSONField(default=list)
