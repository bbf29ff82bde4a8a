"""Many readers of streams in one process, each on a connection of its own."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any
from urllib.parse import urlsplit


class Reader:
    """A stream that is open; messages are put in the order in which they come."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def message(self) -> tuple[float, dict[str, Any]]:
        """The next one, and when it came."""
        while True:
            line = await self._reader.readline()
            assert line, "the stream has ended"
            if line.startswith(b"data: "):
                return time.perf_counter(), json.loads(line[6:])

    def close(self) -> None:
        self._writer.close()


async def open_reader(url: str, path: str) -> Reader:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    status = await reader.readline()
    assert status == b"HTTP/1.1 200 OK\r\n", status
    while await reader.readline() != b"\r\n":
        pass
    return Reader(reader, writer)


async def open_readers(url: str, path: str, count: int, at_once: int = 50) -> list[Reader]:
    turn = asyncio.Semaphore(at_once)

    async def one() -> Reader:
        async with turn:
            return await open_reader(url, path)

    return await asyncio.gather(*(one() for _ in range(count)))
