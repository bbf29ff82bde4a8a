"""The page, and what it asks for. Its files are in static/."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from pgbaton._json_text import JsonText, pretty
from pgbaton._text import plain
from pgbaton.errors import InvalidState, UnknownJob
from pgbaton.http._answers import Events, answer, job_id, number
from pgbaton.http._rights import rights_of
from pgbaton.http._routes import Route
from pgbaton.http._search import search_of
from pgbaton.http._state import state_of
from pgbaton.http._watch import for_browser
from pgbaton.models import JobState

STATIC = Path(__file__).parent / "static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FILES = {file.name: KINDS[file.suffix] for file in STATIC.iterdir() if file.suffix in KINDS}
MOST_DEAD = 200
MOST_ATTEMPTS = 100
MOST_DEPENDENCIES = 100
MOST_BLOCKED_JOBS = 100
PAGE = 50
FEW = 20
MOST_LOOKS = 5
MOST_PAUSED = 1000
LAID_OUT = ("payload", "result")


async def live(request: Request) -> Response:
    """GET /ui/live"""
    state = state_of(request)
    return Events(state.gateway.watch(state.caller).pictures())


async def job(request: Request) -> Response:
    """GET /ui/jobs/{id}"""
    wanted = job_id(request.path_params["id"])
    client = state_of(request).client
    info = await client.get_job(wanted)
    attempts = await client.job_attempts(wanted, MOST_ATTEMPTS)
    dependencies = await client.job_dependencies(wanted, MOST_DEPENDENCIES)
    why: str | None = None
    policy: str | None = None
    failed_at: datetime | None = None
    try:
        why = await client.why_not_running(wanted)
        policy = next((q.policy for q in await client.list_queues() if q.queue == info.queue), None)
        if info.state == JobState.FAILED and info.finished_at is None:
            failed_at = (await client.get_dead_job(wanted)).failed_at
    except (psycopg.errors.InsufficientPrivilege, UnknownJob):
        pass  # who may only monitor, all queues or this one, sees the job and not the reason
    except InvalidState:
        pass  # it was retried just now
    return answer(
        {
            "job": shown(info),
            "why": why,
            "policy": policy,
            "failed_at": plain(failed_at),
            "attempts": [plain(attempt) for attempt in attempts],
            "dependencies": [for_browser(dependency) for dependency in dependencies],
            "at": (await state_of(request).clock()).isoformat(),
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
    return answer({"jobs": [for_browser(row) for row in rows], "next_after": found.next_after})


async def dead(request: Request) -> Response:
    """GET /ui/dead"""
    limit = number(request, "limit", 50, 1, MOST_DEAD)
    offset = number(request, "offset", 0, 0, 999_999_999)
    queue = request.query_params.get("queue") or None
    rows = await state_of(request).client.list_dead_jobs(queue, limit, offset)
    return answer([shown(row) for row in rows])


async def blocked(request: Request) -> Response:
    """GET /ui/blocked: keys that fit, from `after` on; fewer than a page after many looks."""
    given = request.query_params
    client = state_of(request).client
    ids: list[int] = []
    after = given.get("after") or None
    for _ in range(MOST_LOOKS):
        found = await client.find_blocked_keys(
            given.get("queue") or None, given.get("key") or None, FEW - len(ids), after
        )
        ids += found.job_ids
        after = found.next_after
        if after is None or len(ids) == FEW:
            break
    rows = await client.list_blocked_keys(ids)
    return answer({"rows": [for_browser(row) for row in rows], "next_after": after})


async def blocked_jobs(request: Request) -> Response:
    """GET /ui/blocked_jobs"""
    queue = request.query_params.get("queue") or None
    rows = await state_of(request).client.blocked_jobs(queue, MOST_BLOCKED_JOBS)
    return answer([for_browser(row) for row in rows])


async def paused(request: Request) -> Response:
    """GET /ui/paused"""
    queue = request.query_params.get("queue") or None
    rows = await state_of(request).client.list_paused_keys(queue, MOST_PAUSED)
    return answer([plain(row) for row in rows])


async def schedules(request: Request) -> Response:
    """GET /ui/schedules"""
    rows = await state_of(request).client.list_schedules()
    return answer([shown(row) for row in rows])


async def audit(request: Request) -> Response:
    """GET /ui/audit"""
    given = request.query_params
    rows = await state_of(request).client.list_audit(
        given.get("queue") or None,
        job_id(given["job"]) if given.get("job") else None,
        PAGE + 1,
        job_id(given["before"]) if given.get("before") else None,
    )
    more = rows[PAGE - 1].id if len(rows) > PAGE else None
    return answer(
        {
            "rows": [for_browser(row) for row in rows[:PAGE]],
            "next_before": None if more is None else str(more),
        }
    )


async def me(request: Request) -> Response:
    """GET /ui/me"""
    return answer(await rights_of(state_of(request)))


async def index(_: Request) -> Response:
    """GET /"""
    return FileResponse(STATIC / "index.html", media_type="text/html")


async def static(request: Request) -> Response:
    """GET /static/{name}"""
    name = request.path_params["name"]
    if name not in FILES:
        raise HTTPException(404, "there is no such file")
    return FileResponse(STATIC / name, media_type=FILES[name])


ROUTES = [
    Route("/", index, is_open=True),
    Route("/static/{name}", static, is_open=True),
    Route("/ui/live", live, acts=True),
    Route("/ui/jobs", jobs),
    Route("/ui/jobs/{id}", job),
    Route("/ui/dead", dead),
    Route("/ui/blocked", blocked),
    Route("/ui/blocked_jobs", blocked_jobs),
    Route("/ui/paused", paused),
    Route("/ui/schedules", schedules),
    Route("/ui/audit", audit),
    Route("/ui/me", me),
]
