"""pgbaton in Django: an app that installs it, and calls that join the transactions of Django.

The backend for Django's tasks is in `pgbaton.django.tasks`.
"""

from __future__ import annotations

from pgbaton._extras import extra

with extra("django"):
    from pgbaton.django._connections import client, close_connections

__all__ = ["client", "close_connections"]
