"""The filter of a list of jobs, as it stands in the address of the page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from starlette.exceptions import HTTPException

from pgbaton._arguments import JobSearch
from pgbaton._json_text import checked

TEXTS = {
    "queue": "queue",
    "type": "job_type",
    "key": "singleton_key",
    "worker": "worker_id",
    "error": "error",
}
LISTS = {"state": "states", "tag": "tags"}
TIMES = ("created_after", "created_before", "ended_after", "ended_before")


def search_of(given: Mapping[str, str]) -> JobSearch:
    """The filter that a query string says: what is empty is no condition."""
    search: dict[str, Any] = {
        name: given[parameter] for parameter, name in TEXTS.items() if given.get(parameter)
    }
    search |= {
        name: [given[parameter]] for parameter, name in LISTS.items() if given.get(parameter)
    }
    search |= {name: instant_of(name, given[name]) for name in TIMES if given.get(name)}
    if given.get("payload"):
        try:
            search["payload"] = checked(given["payload"])
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, 'payload is no JSON: {"order": 17}') from error
    return cast(JobSearch, search)


def instant_of(name: str, text: str) -> datetime:
    """An instant as ISO 8601 has it."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise HTTPException(400, f"{name} is no instant: 2030-01-31T12:00:00Z") from error
    if instant.tzinfo is None:
        raise HTTPException(400, f"{name} has no time zone: 2030-01-31T12:00:00Z")
    return instant
