"""The page, and what it asks for. Its files are in static/."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import psycopg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from pgbaton._arguments import JobSearch
from pgbaton._json_text import JsonText, checked, pretty
from pgbaton._text import plain
from pgbaton.errors import InvalidState
from pgbaton.http._answers import Events, answer, job_id, number, queue_of, read_object, text
from pgbaton.http._routes import Route
from pgbaton.http._state import state_of
from pgbaton.http._watch import Watch, for_browser
from pgbaton.models import JobState

STATIC = Path(__file__).parent / "static"
KINDS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
MOST_DEAD = 200
MOST_ATTEMPTS = 100
PAGE = 50
TEXTS = {"queue": "queue", "type": "job_type", "key": "singleton_key", "error": "error"}
LISTS = {"state": "states", "tag": "tags"}
LAID_OUT = ("payload", "result")


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
    attempts = await client.job_attempts(wanted, MOST_ATTEMPTS)
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
    return answer(
        {
            "job": shown(info),
            "why": why,
            "failed_at": plain(failed_at),
            "attempts": [plain(attempt) for attempt in attempts],
        }
    )


def shown(row: Any) -> Any:
    """A row whose payload and result are texts to be read: a browser makes floats of numbers."""
    return {
        name: str(pretty(part)) if isinstance(part, JsonText) and name in LAID_OUT else part
        for name, part in for_browser(row).items()
    }


async def jobs(request: Request) -> Response:
    """GET /ui/jobs"""
    given = request.query_params
    client = state_of(request).client
    found = await client.find_jobs(search_of(given), PAGE, given.get("after") or None)
    rows = await client.list_jobs(found.job_ids)
    return answer({"jobs": [plain(row) for row in rows], "next_after": found.next_after})


def search_of(given: Mapping[str, str]) -> JobSearch:
    """The filter that a query string says: what is empty is no condition."""
    search: dict[str, Any] = {
        name: given[parameter] for parameter, name in TEXTS.items() if given.get(parameter)
    }
    search |= {
        name: [given[parameter]] for parameter, name in LISTS.items() if given.get(parameter)
    }
    if given.get("payload"):
        try:
            search["payload"] = checked(given["payload"])
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, 'payload is no JSON: {"order": 17}') from error
    return cast(JobSearch, search)


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
            return answer({"ok": True, "id": str(await client.requeue_dead_job(wanted))})
        case other:
            raise HTTPException(404, f"there is no action {other!r}")
    return answer({"ok": True, "id": str(wanted)})


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
    Route("/ui/jobs", jobs),
    Route("/ui/jobs/{id}", job),
    Route("/ui/dead", dead),
    Route("/ui/queues/{queue}/jobs/{id}/{action}", repair, ["POST"]),
]
