"""The page, and what it asks for. Its files are in static/."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from pgbaton._async.client import AsyncClient
from pgbaton._json_text import JsonText, pretty, write
from pgbaton._runtime.waiting import happens
from pgbaton.cli._errors import sentence
from pgbaton.cli._text import plain
from pgbaton.errors import InvalidState
from pgbaton.http._answers import answer, job_id, log, number, read_object
from pgbaton.http._queue import Events, queue_of, text
from pgbaton.http._routes import Route
from pgbaton.http._state import state_of
from pgbaton.models import JobState

STATIC = Path(__file__).parent / "static"
KINDS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
MOST_BLOCKED = 200
MOST_DEAD = 200
LAID_OUT = ("payload", "result")


class Watch:
    """Looks at the queues for all pages of one caller, while there are any."""

    def __init__(self, client: AsyncClient, every: float) -> None:
        self._client = client
        self._every = every
        self._pages: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self._latest: bytes | None = None
        self._has_ended = False

    def end(self) -> None:
        self._has_ended = True
        for page in self._pages:
            page.set()

    async def pictures(self) -> AsyncIterator[bytes]:
        """The latest picture whenever there is a new one; who reads slowly misses some."""
        new = asyncio.Event()
        self._pages.add(new)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            while not self._has_ended:
                await happens(new, 60)
                new.clear()
                if self._latest is not None and not self._has_ended:
                    yield self._latest
        finally:
            self._pages.discard(new)

    async def _look(self) -> None:
        while self._pages and not self._has_ended:
            data = write(plain(await picture(self._client, self._every)))
            self._latest = f"event: picture\ndata: {data}\n\n".encode()
            for page in self._pages:
                page.set()
            await asyncio.sleep(self._every)
        self._latest = None


async def picture(client: AsyncClient, every: float) -> dict[str, Any]:
    """All that the page shows at once; what the caller may not see says so."""
    return {
        "queues": await seen(client.live_stats()),
        "totals": await seen(client.job_totals(max_age=timedelta(seconds=2 * every))),
        "blocked": await seen(client.blocked_keys(), MOST_BLOCKED),
        "workers": await seen(client.list_workers()),
        "health": await seen(client.health()),
    }


async def seen(call: Awaitable[list[Any]], most: int | None = None) -> dict[str, Any]:
    try:
        rows = await call
    except psycopg.Error as error:
        if error.sqlstate is None:
            log.warning("the page cannot look: %s", error)
            return {"error": "the database cannot be asked"}
        return {"error": sentence(error)}
    return {"rows": rows[:most], "count": len(rows)}


async def live(request: Request) -> Response:
    """GET /ui/live"""
    state = state_of(request)
    watches = state.gateway.watches
    if state.caller.name not in watches:
        watches[state.caller.name] = Watch(state.client, state.settings.refresh)
    return Events(watches[state.caller.name].pictures())


async def job(request: Request) -> Response:
    """GET /ui/jobs/{id}"""
    wanted = job_id(request.path_params["id"])
    client = state_of(request).client
    info = await client.get_job(wanted)
    why: str | None = None
    failed_at: datetime | None = None
    try:
        why = await client.why_not_running(wanted)
        if info.state == JobState.FAILED and info.finished_at is None:
            failed_at = (await client.get_dead_job(wanted)).failed_at
    except psycopg.errors.InsufficientPrivilege:
        pass  # who may only monitor sees the job and not the reason
    except InvalidState:
        pass  # it was retried just now
    return answer({"job": shown(info), "why": why, "failed_at": plain(failed_at)})


def shown(row: Any) -> Any:
    """A row whose payload and result are texts to be read: a browser makes floats of numbers."""
    return {
        name: str(pretty(part)) if isinstance(part, JsonText) and name in LAID_OUT else part
        for name, part in plain(row).items()
    }


async def dead(request: Request) -> Response:
    """GET /ui/dead"""
    limit = number(request, "limit", 50, 1, MOST_DEAD)
    offset = number(request, "offset", 0, 0, 999_999_999)
    queue = request.query_params.get("queue") or None
    rows = await state_of(request).client.list_dead_jobs(queue, limit, offset)
    return answer([shown(row) for row in rows])


async def repair(request: Request) -> Response:
    """POST /ui/queues/{queue}/jobs/{id}/{action}"""
    wanted = job_id(request.path_params["id"])
    queue = queue_of(request)
    client = state_of(request).client
    body = await read_object(request, "reason")
    reason = text("reason", body.get("reason", "")) or None
    match request.path_params["action"]:
        case "retry":
            await client.retry_job(queue, wanted)
        case "skip":
            await client.skip_job(queue, wanted, reason)
        case "requeue":
            return answer({"ok": True, "id": await client.requeue_dead_job(wanted)})
        case other:
            raise HTTPException(404, f"there is no action {other!r}")
    return answer({"ok": True, "id": wanted})


async def index(_: Request) -> Response:
    """GET /"""
    return FileResponse(STATIC / "index.html", media_type="text/html")


async def static(request: Request) -> Response:
    """GET /static/{name}"""
    name = request.path_params["name"]
    if name not in KINDS:
        raise HTTPException(404, "there is no such file")
    return FileResponse(STATIC / name, media_type=KINDS[name])


ROUTES = [
    Route("/", index, is_open=True),
    Route("/static/{name}", static, is_open=True),
    Route("/ui/live", live, acts=True),
    Route("/ui/jobs/{id}", job),
    Route("/ui/dead", dead),
    Route("/ui/queues/{queue}/jobs/{id}/{action}", repair, ["POST"]),
]
