"""GET /healthz and /readyz: what Kubernetes and its like ask, without a token."""

from __future__ import annotations

import asyncio
import time

import psycopg
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from pgbaton.http._answers import refusal
from pgbaton.http._routes import Route
from pgbaton.http._state import Gateway

PATIENCE = 2.0
"""Seconds for the database to answer."""
FRESH = 1.0
"""Seconds for which an answer holds: whoever asks has shown no token, and should cost nothing."""


async def healthz(_: Request) -> Response:
    """GET /healthz: the process lives, whatever the database does."""
    return PlainTextResponse("ok")


async def readyz(request: Request) -> Response:
    """GET /readyz: the database answers."""
    gateway: Gateway = request.app.state.gateway
    async with gateway.asking:
        if time.monotonic() - gateway.asked_at > FRESH:
            gateway.is_ready = await answers(gateway)
            gateway.asked_at = time.monotonic()
    return PlainTextResponse("ready") if gateway.is_ready else refusal(503, "no database")


async def answers(gateway: Gateway) -> bool:
    try:
        async with (
            asyncio.timeout(2 * PATIENCE),
            gateway.clients.pool.connection(PATIENCE) as connection,
        ):
            await connection.execute("select 1")
    except (psycopg.Error, TimeoutError):
        return False
    return True


ROUTES: list[Route] = [
    Route("/healthz", healthz, is_open=True),
    Route("/readyz", readyz, is_open=True),
]
