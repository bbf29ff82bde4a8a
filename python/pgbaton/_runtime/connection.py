"""The connection of a worker: its calls end, whatever the server does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg

from pgbaton._async.caller import OwnConnection
from pgbaton._listening.waiting import break_off


class BoundConnection(OwnConnection):
    """Its calls may take that long, unless the role, the database or the DSN says how long.

    Not through a pooler, which would lend the connection with this setting to others.
    """

    def __init__(self, dsn: str, call_timeout: timedelta) -> None:
        super().__init__(dsn)
        self._milliseconds = max(1, int(call_timeout.total_seconds() * 1000))

    async def _set_up(self, connection: psycopg.AsyncConnection[Any]) -> None:
        await super()._set_up(connection)
        await connection.execute(
            "select set_config('statement_timeout', %s, false) where pg_backend_pid() = %s"
            " and current_setting('statement_timeout') = '0'",
            [str(self._milliseconds), connection.info.backend_pid],
        )

    def break_off(self) -> None:
        break_off(self._connection)
