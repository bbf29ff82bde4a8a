"""The OpenAPI document of the endpoints for messages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from pgbaton.http._queue import (
    CAPACITY,
    LONGEST,
    LONGEST_WAIT,
    MOST_CAPACITY,
    MOST_OUTCOMES,
    MOST_ROWS,
)
from pgbaton.http._settings import MAX_BODY

Schema = dict[str, Any]

ANY: Schema = {}
STRING: Schema = {"type": "string"}
STORABLE: Schema = {"type": "string", "pattern": "^[^\\u0000]*$"}
NAME: Schema = {"type": "string", "pattern": "^[^\\u0000]+$", "maxLength": 255}
KEY: Schema = NAME | {"maxLength": 1024}
ID: Schema = {"type": "string", "pattern": "^[0-9]{1,18}$", "example": "42"}
COUNT: Schema = {"type": "integer", "minimum": 0}
INSTANT: Schema = {"type": "integer", "description": "Milliseconds since 1970."}
WAIT: Schema = {"type": "integer", "minimum": 0, "maximum": LONGEST}
OK: Schema = {"const": True}


def thing(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with these members and no others."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def many(items: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": items} | ({"minItems": least} if least else {})


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


LIMITS: dict[str, Schema] = {
    name: or_null({"type": "integer", "minimum": 1, "maximum": most})
    for name, most in (
        ("maxRunning", 1000),
        ("keyLimit", 1000),
        ("rateCount", 1_000_000),
        ("rateInterval", 31 * 86_400_000),
        ("rateBurst", 1_000_000),
        ("keyRateCount", 100),
        ("keyRateInterval", 31 * 86_400_000),
        ("keyRateBurst", 100),
    )
}


def schemas() -> dict[str, Schema]:
    message = thing({"id": ID, "value": ANY, "attempts": COUNT}, {"leaseToken": ID})
    return {
        "Error": thing({"ok": {"const": False}, "error": STRING}, {"code": STRING, "hint": STRING}),
        "Ok": thing({"ok": OK}),
        "Enqueue": thing({"value": ANY}, {"options": ref("Options")}),
        "Options": thing(
            {},
            {
                "delay": WAIT,
                "backoffSchedule": many(WAIT),
                "keysIfUndelivered": many(many(NAME | {"maxLength": 1020}, 1), 1),
                "singletonKey": KEY,
                "priority": {"type": "integer", "minimum": -(2**31) + 1, "maximum": 2**31 - 1},
                "jobType": STORABLE | {"maxLength": 255},
                "tags": many(NAME),
                "dedupId": KEY,
                "onDuplicate": {"enum": ["error", "skip", "replace"]},
                "debounce": WAIT | {"minimum": 1},
                "maxWait": WAIT | {"minimum": 1},
                "after": many(ID),
                "onFailed": {"enum": ["wait", "cancel", "run"]},
            },
        ),
        "Enqueued": thing({"ok": OK, "id": ID}, {"outcome": STRING}),
        "Message": message,
        "Polled": thing({"message": {"anyOf": [ref("Message"), {"type": "null"}]}}),
        "Ack": thing({"id": ID}, {"leaseToken": ID}),
        "Nack": thing({"id": ID}, {"leaseToken": ID, "errorMessage": STORABLE}),
        "Stats": thing(dict.fromkeys(("pending", "processing", "dlq", "total"), COUNT)),
        "Outcome": thing(
            {
                "id": ID,
                "state": {"type": ["string", "null"]},
                "resolution": {"type": ["string", "null"]},
                "result": ANY,
                "errorMessage": {"type": ["string", "null"]},
                "endedAt": {"type": ["integer", "null"]},
            }
        ),
        "SetLimits": thing({}, LIMITS),
        "Limits": thing(
            LIMITS | {"running": or_null(COUNT), "nextStartAt": or_null(INSTANT)},
        ),
        "DeadMessage": thing(
            {
                "id": ID,
                "originalId": ID,
                "value": ANY,
                "attempts": COUNT,
                "errorMessage": {"type": ["string", "null"]},
                "originalCreatedAt": INSTANT,
                "failedAt": INSTANT,
            }
        ),
        "Requeued": thing({"ok": OK, "newId": ID}),
        "Purged": thing({"deletedCount": COUNT}),
        "KeyValue": thing({"key": many(STRING), "value": ANY, "updatedAt": INSTANT}),
    }


MEANINGS = {
    "400": "A parameter or the body is not as described here.",
    "401": "No token, or one that is not known here.",
    "403": "The role of the token may not do this, or a page of another origin called.",
    "404": "No such queue or message.",
    "405": "The path knows other methods.",
    "409": "The state of the message does not accept it, or its lock was lost.",
    "413": f"The body is above the limit; default {MAX_BODY} bytes.",
    "415": "Content-Type is not application/json.",
    "421": "Without tokens: the gateway is not called by that name.",
    "503": "The database cannot be asked; try again.",
}
ALWAYS = ("400", "401", "403", "404", "405", "413", "421", "503")


def parameter(name: str, schema: Schema, about: str, **more: Any) -> Schema:
    return {"name": name, "in": "query", "schema": schema, "description": about} | more


def operation(
    about: str,
    answer: Schema,
    *more: str,
    body: str | None = None,
    parameters: list[Schema] | None = None,
) -> Schema:
    found: Schema = {"summary": about, "responses": responses(answer, *more)}
    if body is not None:
        content = {"application/json": {"schema": ref(body)}}
        found["requestBody"] = {"required": True, "content": content}
        found["responses"] |= responses(answer, "415")
    if parameters:
        found["parameters"] = parameters
    return found


def responses(answer: Schema, *more: str) -> Schema:
    """What it answers, and what any endpoint may answer."""
    is_stream = answer is EVENTS
    kind = "text/event-stream" if is_stream else "application/json"
    error = {"application/json": {"schema": ref("Error")}}
    return {
        "200": {"description": "Done.", "content": {kind: {"schema": answer}}},
        **{
            status: {"description": MEANINGS[status], "content": error}
            for status in (*ALWAYS, *more)
        },
    }


EVENTS: Schema = {
    "type": "string",
    "description": "Events: message and cancel with an object as data, ping without any.",
}
TOKENS = parameter(
    "leaseToken", {"enum": ["true", "false"]}, "true: messages carry the token of their lock."
)


def paths() -> dict[str, Schema]:
    one = {
        "name": "id",
        "in": "path",
        "required": True,
        "schema": ID,
        "description": "Of a dead letter.",
    }
    return {
        "/queue/enqueue": {
            "post": operation("Add a message", ref("Enqueued"), "409", body="Enqueue")
        },
        "/queue/listen": {
            "get": operation(
                "Be sent messages",
                EVENTS,
                parameters=[
                    parameter(
                        "capacity",
                        {"type": "integer", "minimum": 1, "maximum": MOST_CAPACITY},
                        f"Messages held at once; default {CAPACITY}.",
                    ),
                    TOKENS,
                ],
            )
        },
        "/queue/poll": {"get": operation("Take a message", ref("Polled"), parameters=[TOKENS])},
        "/queue/ack": {
            "post": operation("A message was processed", ref("Ok"), "409", body="Ack")
        },
        "/queue/nack": {
            "post": operation("A message is to be retried", ref("Ok"), "409", body="Nack")
        },
        "/queue/stats": {"get": operation("Count messages", ref("Stats"))},
        "/queue/outcomes": {
            "get": operation(
                "How messages ended, of those that have",
                many(ref("Outcome")),
                parameters=[
                    parameter(
                        "id",
                        many(ID) | {"maxItems": MOST_OUTCOMES},
                        "Of which messages, one parameter each.",
                        style="form", explode=True,
                    ),
                    parameter(
                        "wait",
                        {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT},
                        "Seconds to wait until all have ended; default 0.",
                    ),
                ],
            )
        },
        "/queue/limits": {
            "get": operation("How many messages may run and start", ref("Limits")),
            "put": operation(
                "Set all limits; what is left out has none", ref("Limits"), "409", body="SetLimits"
            ),
        },
        "/queue/dlq": {
            "get": operation(
                "List dead letters, the latest first",
                many(ref("DeadMessage")),
                parameters=[
                    parameter(
                        "limit",
                        {"type": "integer", "minimum": 0, "maximum": MOST_ROWS},
                        "How many; default 50.",
                    ),
                    parameter(
                        "offset",
                        {"type": "integer", "minimum": 0, "maximum": 999_999_999},
                        "How many to leave out; default 0.",
                    ),
                ],
            ),
            "delete": operation(
                "Delete all dead letters that hold no key", ref("Purged")
            ),
        },
        "/queue/dlq/{id}": {
            "parameters": [one],
            "get": operation("Look at a dead letter", ref("DeadMessage"), "409"),
            "delete": operation("Delete a dead letter", ref("Ok"), "409"),
        },
        "/queue/dlq/{id}/requeue": {
            "parameters": [one],
            "post": operation("Enqueue a dead letter anew", ref("Requeued"), "409"),
        },
        "/keys": {
            "get": operation(
                "Values stored for messages that were not delivered",
                many(ref("KeyValue")),
                parameters=[
                    parameter(
                        "prefix", many(STORABLE), "First parts of the key, one parameter each.",
                        style="form", explode=True,
                    )
                ],
            )
        },
    }  # fmt: skip


@cache
def document() -> Schema:
    """The whole of it."""
    queue = {
        "name": "queue",
        "in": "path",
        "required": True,
        "schema": NAME,
        "description": "Name of the queue.",
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "pgbaton",
            "version": version("pgbaton"),
            "description": "Queues of pgbaton over HTTP; see docs/http.md.",
        },
        "paths": {
            "/{queue}/api" + path: {
                **item, "parameters": [queue, *item.get("parameters", [])]
            }
            for path, item in paths().items()
        },
        "security": [{}, {"token": []}],
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip
