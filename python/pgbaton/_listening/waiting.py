"""Waiting for something, but not for ever."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import Any

import psycopg


async def happens(event: asyncio.Event, seconds: float) -> bool:
    """Waits for it that long; returns whether it did."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def break_off(connection: psycopg.AsyncConnection[Any] | None) -> None:
    """Who waits for an answer of the server is told that there will be none."""
    if connection is not None:
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(connection.fileno())) as door,
        ):
            door.shutdown(socket.SHUT_RDWR)
