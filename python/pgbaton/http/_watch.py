"""What the page shows at once, looked up once for all pages of a caller."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import psycopg

from pgbaton._async.client import AsyncClient
from pgbaton._json_text import write
from pgbaton._listening.waiting import happens
from pgbaton._text import plain, sentence
from pgbaton.http._answers import log

MOST_EXACT = 2**53 - 1
MOST_COUNTED = 10_000
"""Jobs of a queue that do the same; the page shows a number that is this as 10,000+."""
HOUR = 3600
STEP = 10
"""Seconds between two points of a chart."""
LATE = 60
"""Seconds that a look may come late; what is further ahead is of a clock set back since."""
BETWEEN = 60.0
"""Seconds between two looks while no page is open."""
REFUSALS = ("42501", "PB009")


Clock: TypeAlias = Callable[[], Awaitable[datetime]]
"""Says what time it is in the database: the page goes by that, too."""


class Past:
    """What a watch saw within the last hour, for the charts of a page that is opened now."""

    def __init__(self) -> None:
        self._ages: Series = {}
        self._counts: Series = {}

    def note(self, picture: dict[str, Any]) -> None:
        if picture["at"] is None:
            return
        now = picture["at"].timestamp()
        if "rows" in picture["queues"]:
            self._forget_all_but({live.queue for live in picture["queues"]["rows"]})
        for live in picture["queues"].get("rows", ()):
            age = live.oldest_ready_age
            seconds = 0.0 if age is None else age.total_seconds()
            remember(self._ages, live.queue, (now, seconds))
        for total in picture["totals"].get("rows", ()):
            if total.counted_at is not None:
                at = total.counted_at.timestamp()
                remember(self._counts, total.queue, (at, total.enqueued, total.completed))

    def _forget_all_but(self, queues: set[str]) -> None:
        for series in (self._ages, self._counts):
            for queue in series.keys() - queues:
                del series[queue]

    def told(self) -> dict[str, Any]:
        """Without what stayed as it was."""
        return {"ages": moving(self._ages), "counts": moving(self._counts)}


Series: TypeAlias = dict[str, deque[tuple[float, ...]]]


def remember(series: Series, queue: str, point: tuple[float, ...]) -> None:
    """As the page does: the latest point, and before it one every few seconds."""
    points = series.setdefault(queue, deque())
    while points and points[-1][0] > point[0] + LATE:  # the clock was set back since
        points.pop()
    if points and points[-1][0] >= point[0]:
        return
    if len(points) > 1 and point[0] - points[-2][0] < STEP:
        points.pop()
    points.append(point)
    while points[0][0] < point[0] - HOUR:
        points.popleft()


def moving(series: Series) -> dict[str, list[tuple[float, ...]]]:
    return {
        queue: list(points)
        for queue, points in series.items()
        if len({point[1:] for point in points}) > 1
    }


class Watch:
    """Looks at the queues for all pages of one caller, while there are any."""

    def __init__(self, client: AsyncClient, every: float, clock: Clock) -> None:
        self._client = client
        self._every = every
        self._clock = clock
        self._pages: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self._latest: bytes | None = None
        self._has_ended = False
        self._may_look = True
        self._past = Past()

    def end(self) -> None:
        self._has_ended = True
        for page in self._pages:
            page.set()

    def told(self) -> dict[str, Any]:
        """What was seen before."""
        return self._past.told()

    async def pictures(self) -> AsyncIterator[bytes]:
        """The latest picture whenever there is a new one; who reads slowly misses some."""
        new = asyncio.Event()
        self._pages.add(new)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            yield event("past", self.told())
            while not self._has_ended:
                await happens(new, 60)
                new.clear()
                if self._latest is not None and not self._has_ended:
                    yield self._latest
        finally:
            self._pages.discard(new)

    async def _look(self) -> None:
        sees_limits = True
        while self._pages and not self._has_ended:
            seen = await picture(self._client, self._every, sees_limits, self._clock)
            # Who may only monitor is refused: that is not asked for again.
            sees_limits = sees_limits and seen["limits"].get("code") != "42501"
            self._past.note(seen)
            self._latest = event("picture", seen)
            for page in self._pages:
                page.set()
            await asyncio.sleep(self._every)
        self._latest = None

    async def look_back(self) -> None:
        """For the charts of a page that is opened later; while one is open it looks itself."""
        if self._pages or not self._may_look:
            return
        found = await figures(self._client, timedelta(seconds=BETWEEN), self._clock)
        self._may_look = found["queues"].get("code") not in REFUSALS
        self._past.note(found)


def event(name: str, content: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {write(for_browser(content))}\n\n".encode()


async def figures(client: AsyncClient, max_age: timedelta, clock: Clock) -> dict[str, Any]:
    """What charts are drawn of."""
    return {
        "queues": await seen(client.live_stats(most=MOST_COUNTED)),
        "totals": await seen(client.job_totals(max_age=max_age)),
        "at": await told(clock),
    }


async def told(clock: Clock) -> datetime | None:
    try:
        return await clock()
    except psycopg.Error:
        return None  # and everything else says why


async def picture(
    client: AsyncClient, every: float, with_limits: bool, clock: Clock
) -> dict[str, Any]:
    """All that the page shows at once; what the caller may not see says so."""
    return await figures(client, timedelta(seconds=2 * every), clock) | {
        "limits": await seen(client.list_queue_limits()) if with_limits else {},
        "workers": await seen(client.list_workers()),
        "health": await seen(client.health()),
    }


async def seen(call: Awaitable[list[Any]]) -> dict[str, Any]:
    try:
        rows = await call
    except psycopg.Error as error:
        if error.sqlstate is None:
            log.warning("the page cannot look: %s", error)
            return {"error": "the database cannot be asked"}
        return {"error": sentence(error), "code": error.sqlstate}
    return {"rows": rows, "count": len(rows)}


def for_browser(value: Any) -> Any:
    """What `plain` gives, with integers as text that a browser would round: ids may be large."""
    match plain(value):
        case dict() as parts:
            return {name: for_browser(part) for name, part in parts.items()}
        case list() as parts:
            return [for_browser(part) for part in parts]
        case int() as number if abs(number) > MOST_EXACT:
            return str(number)
        case other:
            return other
