"""The application: routes, and what runs beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from pgbaton.http import _acts, _health, _metrics, _page, _queue
from pgbaton.http._answers import answer, bad_value, database_error, http_error, log, unexpected
from pgbaton.http._gate import Gate
from pgbaton.http._openapi import document
from pgbaton.http._routes import Route
from pgbaton.http._settings import Settings
from pgbaton.http._state import Gateway


async def openapi(_: Request) -> Response:
    """GET /openapi.json"""
    return answer(document())


ROUTES: list[Route] = [
    Route("/openapi.json", openapi, is_open=True),
    Route("/metrics", _metrics.metrics, acts=True),
    *_health.ROUTES,
    *_page.ROUTES,
    *_acts.ROUTES,
    *_queue.ROUTES,
]


def gateway(settings: Settings) -> Starlette:
    """The gateway as an ASGI application.

    Args:
        settings (Settings): which database, who may call.

    Returns:
        Starlette: with a lifespan, which the server must run.
    """
    open_routes = [route for route in ROUTES if route.is_open]
    guarded = [route for route in ROUTES if not route.is_open]
    app = Starlette(
        # The first that fits answers: so what the gate finds open is what does.
        routes=[*open_routes, *guarded],
        middleware=[Middleware(Gate, settings=settings, open_routes=open_routes)],
        exception_handlers={
            HTTPException: http_error,
            psycopg.Error: database_error,
            ValueError: bad_value,
            Exception: unexpected,
        },
        lifespan=_lifespan,
    )
    app.state.settings = settings
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    running = Gateway(app.state.settings)
    app.state.gateway = running
    await running.clients.pool.open()
    besides = [asyncio.create_task(_clean_up(running)), asyncio.create_task(running.remember())]
    try:
        yield
    finally:
        for task in besides:
            task.cancel()
        await running.close()


async def _clean_up(running: Gateway) -> None:
    """Maintenance at each interval; with 0 it is left to others."""
    seconds = running.settings.cleanup_interval.total_seconds()
    client = running.clients.of(running.settings.anyone)
    while seconds > 0:
        try:
            await client.run_maintenance()
        except psycopg.Error as error:
            log.warning("maintenance failed: %s", error)
        await asyncio.sleep(seconds)
