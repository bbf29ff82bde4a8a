"""Answers that say what was wrong, and bodies that are read with limits."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import psycopg
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pgbaton._json_text import members_of, read, write

log = logging.getLogger("pgbaton.http")

STATUS = {
    "PB001": 404,  # no such queue
    "PB002": 404,  # no such job
    "PB003": 409,  # its state does not accept it
    "PB004": 409,  # the lease is lost
    "PB005": 400,  # the queue wants a key
    "PB006": 409,  # a duplicate
    "PB009": 403,  # not granted
    "PB010": 409,  # too many lanes
    "PB011": 413,  # the payload is too large
    "PB012": 409,  # the key is blocked
    "42501": 403,  # the role lacks the privilege
    "40001": 503,
    "40P01": 503,
}
MOST_ID = 2**63 - 1
SEND_TIMEOUT = 30.0
"""Seconds for which a reader may not read before its stream is ended."""


class BodyTooLarge(HTTPException):
    """Above the limit, whatever its Content-Length said."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, f"the body is above {limit} bytes")


def answer(content: Any, status: int = 200) -> Response:
    """JSON as the endpoints answer it."""
    return Response(write(content), status, media_type="application/json")


def refusal(status: int, message: str, **more: Any) -> Response:
    """What every refused request gets."""
    return answer({"ok": False, "error": message, **more}, status)


def status_of(error: psycopg.Error) -> int:
    """400 for what the caller got wrong, 503 for what may be better in a moment."""
    code = error.sqlstate
    if code in STATUS:
        return STATUS[code]
    if code is None or code[:2] in ("08", "53", "57") or code == "55P03":
        return 503
    return 400 if code[:2] in ("22", "23") else 500


async def database_error(_: Request, error: Exception) -> Response:
    """An error of the database, with its SQLSTATE and hint."""
    assert isinstance(error, psycopg.Error)
    status = status_of(error)
    if status >= 500:
        log.warning("a call failed: %s", error)
    if error.sqlstate is None:  # the rest may name hosts and users
        return refusal(status, "the database cannot be asked")
    message = error.diag.message_primary or type(error).__name__
    hint = {"hint": error.diag.message_hint} if error.diag.message_hint else {}
    return refusal(status, message, code=error.sqlstate, **hint)


async def http_error(_: Request, error: Exception) -> Response:
    """404, 405 and the like."""
    assert isinstance(error, HTTPException)
    response = refusal(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


async def bad_value(_: Request, error: Exception) -> Response:
    """A value that the database could not even be asked about, such as a NUL character."""
    return refusal(400, str(error))


async def unexpected(_: Request, __: Exception) -> Response:
    """A fault of ours; the server logs it."""
    return refusal(500, "internal error")


class Events(EventSourceResponse):
    """A stream that is ended when nobody reads it."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(
            events, ping=0, sep="\n", send_timeout=SEND_TIMEOUT, shutdown_grace_period=1
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            log.info("a stream ended: nobody read it for %s seconds", SEND_TIMEOUT)


# What a request says -----------------------------------------------------------------------------


async def read_object(request: Request, *known: str, as_text: str = "") -> dict[str, Any]:
    """The JSON object of the body, which has no other members than these; one may stay text."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "send Content-Type: application/json")
    try:
        body = members_of((await read_body(request)).decode())
        if body is None:
            raise HTTPException(400, "the body is not a JSON object")
        members(body, "the body", *known)
        return {name: text if name == as_text else read(text) for name, text in body.items()}
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error


async def read_body(request: Request) -> bytes:
    """All of it, however long it said that it is."""
    most = request.app.state.settings.max_body
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise BodyTooLarge(most)
    except ClientDisconnect as error:  # nobody is there to be answered
        raise HTTPException(400, "the body ended early") from error
    return bytes(body)


def members(value: dict[str, Any], what: str, *known: str) -> dict[str, Any]:
    """The same; one that nobody would look at is refused."""
    unknown = sorted(value.keys() - set(known))
    if unknown:
        raise HTTPException(400, f"{what} has {unknown[0]!r}; it may have {', '.join(known)}")
    return value


def queue_of(request: Request) -> str:
    return str(request.path_params["queue"])


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise HTTPException(400, f"{name} is not a string")
    return value


def job_id(value: Any) -> int:
    """An id as it was handed out: a string of digits."""
    if not isinstance(value, str):
        raise HTTPException(400, "id is not a string")
    if not (value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= MOST_ID):
        raise HTTPException(404, f"there is no message {value[:40]!r}")
    return int(value)


def number(request: Request, name: str, default: int, least: int, most: int) -> int:
    """A whole number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise HTTPException(400, f"{name} is not a whole number from {least} to {most}")
    return int(text)
