"""What the gateway is told: which database, who may call, and what is set once for all."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

LOCK_DURATION = timedelta(seconds=30)
BACKOFF_SCHEDULE = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=10))
CLEANUP_INTERVAL = timedelta(seconds=60)
MAX_BODY = 1 << 20
ALONE = "anyone"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class SettingsError(ValueError):
    """A tokens file that cannot be used."""


@dataclass(frozen=True)
class Caller:
    """Who calls.

    Args:
        name (str): as it appears among the workers.
        role (str): the database role that its calls have; None for the gateway's own.
    """

    name: str
    role: str | None = None


@dataclass(frozen=True)
class Settings:
    """Settings of a gateway.

    Args:
        dsn (str): the database.
        callers (dict[str, Caller]): by the SHA-256 of their token, in hex; None: no tokens, and
            everyone who reaches the gateway has the rights of the DSN.
        hosts (tuple[str, ...]): names by which the gateway is called when there are no tokens,
            so that no other page in a browser can call it under a name of its own.
        cleanup_interval (timedelta): between two runs of maintenance; 0 turns it off.
        max_body (int): bytes of a request at most.
        connections (int): to the database at most, besides the one that listens.
        ping (float): seconds without a message after which a stream sends a ping.
        refresh (float): seconds between two looks at the queues while somebody has the page open.
        request_timeout (float): seconds after which a request must have arrived, head and body.
    """

    dsn: str
    callers: dict[str, Caller] | None = None
    hosts: tuple[str, ...] = LOOPBACK
    cleanup_interval: timedelta = CLEANUP_INTERVAL
    max_body: int = MAX_BODY
    connections: int = 10
    ping: float = 15
    refresh: float = 2
    request_timeout: float = 30
    anyone: Caller = field(default=Caller(ALONE), init=False)

    def caller_of(self, token: bytes | None) -> Caller | None:
        """Who that is; None if nobody is known by it."""
        if self.callers is None:
            return self.anyone
        if token is None:
            return None
        return self.callers.get(hashlib.sha256(token).hexdigest())


def read_tokens(path: Path) -> dict[str, Caller]:
    """The callers of a tokens file: a table for each, with sha256 and role.

    Args:
        path (Path): the file, in TOML.

    Returns:
        dict[str, Caller]: by the SHA-256 of the token.

    Raises:
        SettingsError: it says something else.
        OSError: it cannot be read.
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
    callers: dict[str, Caller] = {}
    for name, table in tables.items():
        match table:
            case {"sha256": str(digest), "role": str(role)} if len(table) == 2:
                pass
            case _:
                raise SettingsError(f"{path}: [{name}] needs sha256 and role, and nothing else")
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise SettingsError(f"{path}: the sha256 of [{name}] is not 64 hexadecimal digits")
        if digest in callers:
            raise SettingsError(f"{path}: [{name}] and [{callers[digest].name}] have one token")
        callers[digest] = Caller(name, role)
    if not callers:
        raise SettingsError(f"{path}: there is no caller in it")
    return callers
