"""What the page does: to one job, to all that match a filter, to queues, keys and schedules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pgbaton._arguments import JobSearch
from pgbaton._async.client import AsyncClient
from pgbaton._text import plain
from pgbaton.http._answers import answer, job_id, queue_of, read_object, text
from pgbaton.http._routes import Route
from pgbaton.http._search import instant_of, search_of
from pgbaton.http._state import State, state_of

STEP = 500
COUNTED = 10_000
RUNS_AGAIN = ("retry", "requeue")
"""A job that they let run may fail again and match again: see `stopping_at`."""

# One job ---------------------------------------------------------------------------------------


async def act_on_job(request: Request) -> Response:
    """POST /ui/queues/{queue}/jobs/{id}/{action}"""
    wanted = job_id(request.path_params["id"])
    body = await read_object(request, "reason", "run_at", "priority")
    done = await one_act(
        state_of(request).client, request.path_params["action"], queue_of(request), wanted, body
    )
    return answer({"ok": True, "id": str(wanted)} | done)


async def one_act(
    client: AsyncClient, action: str, queue: str, wanted: int, body: dict[str, Any]
) -> dict[str, str]:
    """Does it, and says what the page cannot know."""
    match action:
        case "retry":
            await client.retry_job(queue, wanted)
        case "skip":
            await client.skip_job(queue, wanted, reason_of(body))
        case "stop_waiting":
            await client.stop_waiting(queue, wanted, reason_of(body))
        case "requeue":
            return {"id": str(await client.requeue_dead_job(wanted))}
        case "delete":
            await client.delete_job(queue, wanted)
        case "cancel":
            outcome = await client.cancel_jobs(job_ids=[wanted])
            if not outcome.cancelled_job_ids:
                raise HTTPException(
                    409, f"job {wanted} failed, has ended or is not yours to cancel"
                )
        case "erase":
            if await client.delete_jobs(job_ids=[wanted]) == 0:
                raise HTTPException(404, f"there is no job {wanted} that you may erase")
        case "reschedule":
            return {"said": await client.reschedule_job(queue, wanted, run_at_of(body))}
        case "priority":
            return {"said": await client.change_priority(queue, wanted, priority_of(body))}
        case other:
            raise HTTPException(404, f"there is no action {other!r}")
    return {}


def reason_of(body: dict[str, Any]) -> str | None:
    return text("reason", body.get("reason", "")) or None


def run_at_of(body: dict[str, Any]) -> datetime | None:
    """None: at once."""
    given = text("run_at", body.get("run_at", ""))
    return instant_of("run_at", given) if given else None


def priority_of(body: dict[str, Any]) -> int:
    given = text("priority", body.get("priority", ""))
    try:
        return int(given)
    except ValueError as error:
        raise HTTPException(400, "priority is no whole number") from error


# All jobs that match ---------------------------------------------------------------------------


async def act_on_all(request: Request) -> Response:
    """POST /ui/act: one step of it, or of counting what it would be."""
    state = state_of(request)
    body = await read_object(
        request, "action", "search", "after", "before", "dry_run", "reason", "run_at", "priority"
    )
    action = text("action", body.get("action", ""))
    dry_run = body.get("dry_run") is True
    before = await started_at(state, text("before", body.get("before", "")))
    step = await state.client.act_on_jobs(
        action,
        stopping_at(before, action, search_of(QueryParams(text("search", body.get("search", ""))))),
        reason_of(body),
        COUNTED if dry_run else STEP,
        text("after", body.get("after", "")) or None,
        dry_run,
        **({} if dry_run else where_to(action, body)),
    )
    return answer(plain(step) | {"before": before.isoformat()})


def where_to(action: str, body: dict[str, Any]) -> dict[str, Any]:
    """Of actions that move jobs."""
    match action:
        case "reschedule":
            return {"run_at": run_at_of(body)}
        case "prioritize":
            return {"priority": priority_of(body)}
        case _:
            return {}


async def started_at(state: State, before: str) -> datetime:
    """When the first step was asked for, by the clock of the database."""
    return instant_of("before", before) if before else await state.clock()


def stopping_at(before: datetime, action: str, search: JobSearch) -> JobSearch:
    """What fails again while it goes on is not taken again, so that it ends."""
    if action not in RUNS_AGAIN:
        return search
    return search | {"ended_before": min(before, search.get("ended_before", before))}


# Queues, keys and schedules --------------------------------------------------------------------


async def act_on_queue(request: Request) -> Response:
    """POST /ui/queues/{queue}/{action}"""
    client = state_of(request).client
    await read_object(request)
    acts: dict[str, Callable[[str], Awaitable[None]]] = {
        "pause": client.pause_queue,
        "resume": client.resume_queue,
    }
    await known(acts, request)(queue_of(request))
    return answer({"ok": True})


async def act_on_key(request: Request) -> Response:
    """POST /ui/queues/{queue}/keys/{action}"""
    client = state_of(request).client
    body = await read_object(request, "key")
    acts: dict[str, Callable[[str, str], Awaitable[None]]] = {
        "pause": client.pause_key,
        "resume": client.resume_key,
    }
    await known(acts, request)(queue_of(request), text("key", body.get("key", "")))
    return answer({"ok": True})


async def act_on_schedule(request: Request) -> Response:
    """POST /ui/schedules/{name}/{action}"""
    client = state_of(request).client
    name = str(request.path_params["name"])
    await read_object(request)
    match request.path_params["action"]:
        case "run":
            return answer({"ok": True, "id": str(await client.run_schedule(name))})
        case "pause" | "resume" as action:
            next_run_at = await client.pause_schedule(name, action == "pause")
            return answer({"ok": True, "next_run_at": plain(next_run_at)})
        case other:
            raise HTTPException(404, f"there is no action {other!r}")


def known(acts: dict[str, Any], request: Request) -> Any:
    action = request.path_params["action"]
    if action not in acts:
        raise HTTPException(404, f"there is no action {action!r}")
    return acts[action]


ROUTES = [
    Route("/ui/act", act_on_all, ["POST"]),
    Route("/ui/queues/{queue}/jobs/{id}/{action}", act_on_job, ["POST"]),
    Route("/ui/queues/{queue}/keys/{action}", act_on_key, ["POST"]),
    Route("/ui/queues/{queue}/{action}", act_on_queue, ["POST"]),
    Route("/ui/schedules/{name}/{action}", act_on_schedule, ["POST"]),
]
