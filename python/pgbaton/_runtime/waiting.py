"""Waiting for something, but not for ever."""

from __future__ import annotations

import asyncio


async def happens(event: asyncio.Event, seconds: float) -> bool:
    """Waits for it that long; returns whether it did."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
