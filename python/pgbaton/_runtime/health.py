"""What Kubernetes and its like ask a worker: whether it lives, and whether it is ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

LONGEST_REQUEST = 5.0
"""Seconds."""


@asynccontextmanager
async def answering(address: str | None, is_ready: Callable[[], bool]) -> AsyncIterator[None]:
    """Answers over HTTP meanwhile, from the event loop: a loop that is stuck does not answer.

    Args:
        address (str): host:port; without a host, of all addresses of the machine.
        is_ready: whether the worker has its database and takes jobs.
    """
    if address is None:
        yield
        return

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(LONGEST_REQUEST):
                request = await reader.readline()
                while (await reader.readline()).strip():  # an answer before the end is a reset
                    pass
                writer.write(answer(request, is_ready))
                await writer.drain()
        writer.close()

    host, port = parts_of(address)
    try:
        server = await asyncio.start_server(serve, host, port)
    except OSError as error:
        raise OSError(
            error.errno, f"health cannot listen on {address}: {error.strerror}"
        ) from error
    async with server:
        yield


def parts_of(address: str) -> tuple[str | None, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"health is {address!r}: pass host:port, or :port for all addresses")
    return host.strip("[]") or None, int(port)


def answer(request: bytes, is_ready: Callable[[], bool]) -> bytes:
    method, _, rest = request.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if method not in (b"GET", b"HEAD"):
        status, text = "405 Method Not Allowed", "GET"
    elif path == b"/healthz":
        status, text = "200 OK", "ok"
    elif path == b"/readyz" and is_ready():
        status, text = "200 OK", "ready"
    elif path == b"/readyz":
        status, text = "503 Service Unavailable", "not ready"
    else:
        status, text = "404 Not Found", "/healthz or /readyz"
    body = "" if method == b"HEAD" else text
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
        f"Connection: close\r\n\r\n{body}"
    ).encode()
