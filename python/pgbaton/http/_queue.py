"""The endpoints for messages, of the queue that the path names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pgbaton._async.client import AsyncClient
from pgbaton._json_text import write
from pgbaton.errors import InvalidState, LeaseLost, UnknownJob
from pgbaton.http._answers import (
    Events,
    answer,
    job_id,
    members,
    number,
    queue_of,
    read_object,
    text,
)
from pgbaton.http._hub import worker_name
from pgbaton.http._routes import Route
from pgbaton.http._state import Claims, State, state_of
from pgbaton.models import ClaimedJob, DeadJob, JobOutcome, QueueLimits

CAPACITY = 10
MOST_CAPACITY = 100
MOST_ROWS = 1000
MOST_OUTCOMES = 100
LONGEST_WAIT = 60
OPTIONS = (
    "delay",
    "backoffSchedule",
    "keysIfUndelivered",
    "singletonKey",
    "priority",
    "jobType",
    "tags",
    "dedupId",
    "onDuplicate",
    "debounce",
    "maxWait",
    "after",
    "onFailed",
)
LONGEST = 366 * 86_400_000


# Producing -------------------------------------------------------------------------------------


async def enqueue(request: Request) -> Response:
    """POST /queue/enqueue"""
    body = await read_object(request, "value", "options", as_text="value")
    if "value" not in body:
        raise HTTPException(400, "the body has no value")
    options = body.get("options", {})
    if not isinstance(options, dict):
        raise HTTPException(400, "options is not an object")
    client = state_of(request).client
    given = arguments(members(options, "options", *OPTIONS))
    if "on_duplicate" not in given:
        new_id = await client.enqueue_job(queue_of(request), body["value"], **given)
        return answer({"ok": True, "id": str(new_id)})
    [done] = await client.enqueue_jobs(queue_of(request), [{"payload": body["value"], **given}])  # type: ignore[typeddict-item]
    if done.job_id is None:
        raise HTTPException(409, done.outcome)
    return answer({"ok": True, "id": str(done.job_id), "outcome": done.outcome})


def arguments(options: dict[str, Any]) -> dict[str, Any]:
    """What enqueue_job calls it."""
    given: dict[str, Any] = {}
    for name, value in options.items():
        match name:
            case "delay":
                given["delay"] = milliseconds(name, value)
            case "debounce" | "maxWait":
                given[WORDS[name]] = milliseconds(name, value)
            case "backoffSchedule":
                waits = [milliseconds(*entry) for entry in entries(name, value)]
                given |= {"backoff_schedule": waits} if waits else {"max_attempts": 1}
            case "keysIfUndelivered":
                given["keys_if_undelivered"] = [
                    [text(*part) for part in entries(*path)] for path in entries(name, value)
                ]
            case "tags":
                given["tags"] = [text(*entry) for entry in entries(name, value)]
            case "after":
                given["after"] = [job_id(text(*entry)) for entry in entries(name, value)]
            case "priority":
                given["priority"] = whole(name, value, 1 - 2**31, 2**31 - 1)
            case _:
                given[WORDS[name]] = text(name, value)
    return given


WORDS = {
    "singletonKey": "singleton_key",
    "jobType": "job_type",
    "dedupId": "dedup_id",
    "onDuplicate": "on_duplicate",
    "onFailed": "on_failed",
    "debounce": "debounce",
    "maxWait": "max_wait",
}


def milliseconds(name: str, value: Any) -> timedelta:
    return timedelta(milliseconds=whole(name, value, 0, LONGEST))


def whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number, which JSON may also write as 1.0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and least <= value <= most and value == int(value)):
        raise HTTPException(400, f"{name} is not a whole number from {least} to {most}")
    return int(value)


def entries(name: str, value: Any) -> list[tuple[str, Any]]:
    """Those of a list, each with what an error calls it: the first is entry 1, as in SQL."""
    if not isinstance(value, list):
        raise HTTPException(400, f"{name} is not a list")
    return [(f"entry {place} of {name}", entry) for place, entry in enumerate(value, 1)]


# Consuming -------------------------------------------------------------------------------------


async def poll(request: Request) -> Response:
    """GET /queue/poll"""
    state = state_of(request)
    with_token = wants_token(request)
    jobs = await state.client.claim_job_batch(
        worker_name(state.caller.name), [queue_of(request)], batch_size=1
    )
    for job in jobs:
        state.claims.note(job)
    message = message_of(jobs[0], with_token) if jobs else None
    return answer({"message": message})


def wants_token(request: Request) -> bool:
    said = request.query_params.get("leaseToken", "false")
    if said not in ("true", "false"):
        raise HTTPException(400, "leaseToken is neither true nor false")
    return said == "true"


def message_of(job: ClaimedJob, with_token: bool) -> dict[str, Any]:
    message = {"id": str(job.id), "value": job.payload, "attempts": job.attempt}
    return message | {"leaseToken": str(job.lease_token)} if with_token else message


PING = b"event: ping\ndata:\n\n"


def event(name: str, message: dict[str, Any]) -> bytes:
    # A jsonb holds neither a line feed nor what Python lets pass and UTF-8 does not have.
    return f"event: {name}\nid: {message['id']}\ndata: {write(message)}\n\n".encode()


async def listen(request: Request) -> Response:
    """GET /queue/listen"""
    state = state_of(request)
    capacity = number(request, "capacity", CAPACITY, 1, MOST_CAPACITY)
    await state.hub(queue_of(request)).check()
    return Events(events_of(state, queue_of(request), capacity, wants_token(request)))


async def events_of(
    state: State, queue: str, capacity: int, with_token: bool
) -> AsyncIterator[bytes]:
    hub = state.hub(queue)
    stream = hub.open(capacity)
    try:
        while not stream.has_ended:
            item = await stream.next(state.settings.ping)
            if isinstance(item, int):
                yield event("cancel", {"id": str(item)})
            elif item is None:
                if not stream.has_ended:
                    yield PING
            elif stream.held.get(item.id) is item:  # not lost, nor claimed once more
                state.claims.note(item, hub, stream)
                yield event("message", message_of(item, with_token))
    finally:
        hub.close(stream)


# Acknowledging ---------------------------------------------------------------------------------


@dataclass
class Finish:
    """A message that its consumer is done with."""

    client: AsyncClient
    claims: Claims
    id: int
    token: int | None
    error: str

    async def ack(self) -> None:
        await self.client.complete_job(self.id, lease_token=self.token)

    async def nack(self) -> None:
        if self.claims.is_cancelled(self.id):
            await self.client.acknowledge_cancellation(self.id, True, self.token)
            return
        try:
            await self.client.fail_job(self.id, self.error, self.token)
        except InvalidState as error:  # ended, or cancelled and nobody here knows it yet
            try:
                await self.client.acknowledge_cancellation(self.id, True, self.token)
            except InvalidState:
                raise error from None


async def finish(request: Request, *known: str) -> Finish:
    """What the body names. Without a token that of the last delivery to this caller counts."""
    state = state_of(request)
    body = await read_object(request, "id", "leaseToken", *known)
    if "id" not in body:
        raise HTTPException(400, "the body has no id")
    message_id = job_id(body["id"])
    token = state.claims.token_of(queue_of(request), message_id)
    if "leaseToken" in body:
        token = job_id(body["leaseToken"])
    error = text("errorMessage", body.get("errorMessage", "")) or "rejected by its consumer"
    return Finish(state.client, state.claims, message_id, token, error)


async def ack(request: Request) -> Response:
    """POST /queue/ack"""
    wanted = await finish(request)
    return await done(wanted, wanted.ack)


async def nack(request: Request) -> Response:
    """POST /queue/nack"""
    wanted = await finish(request, "errorMessage")
    return await done(wanted, wanted.nack)


async def done(wanted: Finish, call: Callable[[], Any]) -> Response:
    try:
        await call()
    except (InvalidState, LeaseLost, UnknownJob):
        wanted.claims.forget(wanted.id, wanted.token)
        raise
    wanted.claims.forget(wanted.id, wanted.token)
    return answer({"ok": True})


# Looking and repairing -------------------------------------------------------------------------


async def stats(request: Request) -> Response:
    """GET /queue/stats"""
    [found] = await state_of(request).client.live_stats(queue_of(request))
    pending = found.pending + found.scheduled + found.waiting + found.retrying + found.recovered
    return answer(
        {
            "pending": pending,
            "processing": found.processing,
            "dlq": found.dlq,
            "total": pending + found.processing + found.dlq,
        }
    )


async def outcomes(request: Request) -> Response:
    """GET /queue/outcomes?id=&wait="""
    wanted = list(dict.fromkeys(job_id(text) for text in request.query_params.getlist("id")))
    if len(wanted) > MOST_OUTCOMES:
        raise HTTPException(400, f"there are {len(wanted)} ids: {MOST_OUTCOMES} at most")
    wait = number(request, "wait", 0, 0, LONGEST_WAIT)
    client = state_of(request).client
    here = {job.id for job in await client.list_jobs(wanted) if job.queue == queue_of(request)}
    for one in wanted:
        if one not in here:
            raise HTTPException(404, f"there is no message {one} in this queue")
    ended = await client.wait_for_outcomes(wanted, timedelta(seconds=wait))
    return answer([outcome_message(outcome) for outcome in ended])


def outcome_message(outcome: JobOutcome) -> dict[str, Any]:
    return {
        "id": str(outcome.job_id),
        "state": outcome.state,
        "resolution": outcome.resolution,
        "result": outcome.result,
        "errorMessage": outcome.error_message,
        "endedAt": epoch(outcome.ended_at) if outcome.ended_at else None,
    }


def dead_message(job: DeadJob) -> dict[str, Any]:
    return {
        "id": str(job.id),
        "originalId": str(job.id),
        "value": job.payload,
        "attempts": job.attempts,
        "errorMessage": job.error_message,
        "originalCreatedAt": epoch(job.created_at),
        "failedAt": epoch(job.failed_at),
    }


def epoch(instant: datetime) -> int:
    """Milliseconds since 1970."""
    return int(instant.timestamp() * 1000)


async def dead_all(request: Request) -> Response:
    """GET and DELETE /queue/dlq"""
    if request.method == "DELETE":
        count = await state_of(request).client.purge_dead_jobs(queue_of(request))
        return answer({"deletedCount": count})
    limit = number(request, "limit", 50, 0, MOST_ROWS)
    offset = number(request, "offset", 0, 0, 999_999_999)
    jobs = await state_of(request).client.list_dead_jobs(queue_of(request), limit, offset)
    return answer([dead_message(job) for job in jobs])


async def dead_one(request: Request) -> DeadJob:
    """The dead letter of the path, if it is one of the queue."""
    wanted = job_id(request.path_params["id"])
    job = await state_of(request).client.get_dead_job(wanted)
    if job.queue != queue_of(request):
        raise HTTPException(404, f"there is no message {wanted} in this queue")
    return job


async def dead_by_id(request: Request) -> Response:
    """GET and DELETE /queue/dlq/{id}"""
    job = await dead_one(request)
    if request.method == "DELETE":
        await state_of(request).client.delete_dead_job(job.id)
        return answer({"ok": True})
    return answer(dead_message(job))


async def dead_requeue(request: Request) -> Response:
    """POST /queue/dlq/{id}/requeue"""
    job = await dead_one(request)
    new_id = await state_of(request).client.requeue_dead_job(job.id)
    return answer({"ok": True, "newId": str(new_id)})


LIMITS = {
    "maxRunning": "max_running",
    "keyLimit": "key_limit",
    "rateCount": "rate_count",
    "rateInterval": "rate_interval",
    "rateBurst": "rate_burst",
    "keyRateCount": "key_rate_count",
    "keyRateInterval": "key_rate_interval",
    "keyRateBurst": "key_rate_burst",
}
MOST_LIMIT = 2**31 - 1


async def limits(request: Request) -> Response:
    """GET and PUT /queue/limits"""
    queue = queue_of(request)
    client = state_of(request).client
    if request.method == "PUT":
        body = await read_object(request, *LIMITS)
        await client.set_queue_limits(queue, **limits_of(body))
    elif all(info.queue != queue for info in await client.list_queues()):
        raise HTTPException(404, f"there is no queue {queue!r} on which you may operate")
    found = [one for one in await client.list_queue_limits() if one.queue == queue]
    return answer(limits_message(found[0] if found else None))


def limits_of(body: dict[str, Any]) -> dict[str, Any]:
    """What set_queue_limits calls it; null is no limit."""
    return {
        LIMITS[name]: milliseconds(name, part)
        if name.endswith("Interval")
        else whole(name, part, 1, MOST_LIMIT)
        for name, part in body.items()
        if part is not None
    }


def in_milliseconds(interval: timedelta | None) -> int | None:
    return None if interval is None else interval // timedelta(milliseconds=1)


def limits_message(found: QueueLimits | None) -> dict[str, Any]:
    """Null is no limit."""
    if found is None:
        return dict.fromkeys((*LIMITS, "running", "nextStartAt"))
    return {
        "maxRunning": found.max_running,
        "keyLimit": found.key_limit,
        "rateCount": found.rate_count,
        "rateInterval": in_milliseconds(found.rate_interval),
        "rateBurst": found.rate_burst,
        "keyRateCount": found.key_rate_count,
        "keyRateInterval": in_milliseconds(found.key_rate_interval),
        "keyRateBurst": found.key_rate_burst,
        "running": found.running,
        "nextStartAt": epoch(found.next_start_at) if found.next_start_at else None,
    }


async def keys(request: Request) -> Response:
    """GET /keys?prefix="""
    entries = await state_of(request).client.kv_list(request.query_params.getlist("prefix"))
    return answer(
        [
            {"key": entry.key, "value": entry.value, "updatedAt": epoch(entry.updated_at)}
            for entry in entries
        ]
    )


API = "/{queue}/api"
ROUTES = [
    Route(API + "/queue/enqueue", enqueue, ["POST"]),
    Route(API + "/queue/listen", listen, acts=True),
    Route(API + "/queue/poll", poll, acts=True),
    Route(API + "/queue/ack", ack, ["POST"]),
    Route(API + "/queue/nack", nack, ["POST"]),
    Route(API + "/queue/stats", stats),
    Route(API + "/queue/outcomes", outcomes, acts=True),
    Route(API + "/queue/limits", limits, ["GET", "PUT"]),
    Route(API + "/queue/dlq", dead_all, ["GET", "DELETE"]),
    Route(API + "/queue/dlq/{id}", dead_by_id, ["GET", "DELETE"]),
    Route(API + "/queue/dlq/{id}/requeue", dead_requeue, ["POST"]),
    Route(API + "/keys", keys),
]
