"""The command pgbaton."""

from pgbaton.cli._app import app

__all__ = ["app"]
