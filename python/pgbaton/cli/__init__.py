"""The command pgbaton."""

from pgbaton.cli._app import app
from pgbaton.cli._database import start_database

__all__ = ["app", "start_database"]
