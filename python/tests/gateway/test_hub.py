"""The hub of the streams, with a client and a listener that do as the test says."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from pgbaton._async.client import AsyncClient
from pgbaton._runtime.listener import Listener
from pgbaton.http._hub import Hub, Stream
from pgbaton.models import ClaimedJob, Sleep


class Queue:
    """Answers like a client: one new job for each claim while it has any."""

    def __init__(self) -> None:
        self.jobs: list[ClaimedJob] = []
        self.breaks = False

    async def claim_job_batch(self, *_: Any, **__: Any) -> list[ClaimedJob]:
        if self.breaks:
            raise KeyError("a bug")
        return [self.jobs.pop()] if self.jobs else []

    async def wait_for_jobs(self, *_: Any, **__: Any) -> Sleep:
        return Sleep("channel", timedelta(seconds=30))

    async def worker_heartbeat(self, *_: Any) -> set[int]:
        return set()

    async def release_jobs(self, *_: Any) -> list[Any]:
        return []


class SlowListener(Listener):
    """Takes until the test says so to listen no more."""

    def __init__(self) -> None:
        super().__init__("")
        self.is_leaving = asyncio.Event()
        self.may_leave = asyncio.Event()

    @property
    def is_up(self) -> bool:
        return True

    async def listen(self, channel: str, event: asyncio.Event) -> None:
        pass

    async def unlisten(self, channel: str, event: asyncio.Event) -> None:
        self.is_leaving.set()
        await self.may_leave.wait()


def hub_of(queue: Queue, listener: Listener) -> Hub:
    return Hub(cast(AsyncClient, queue), listener, "caller", "q")


def claimed(job_id: int) -> ClaimedJob:
    now = datetime.now(UTC)
    given: dict[str, Any] = dict.fromkeys(ClaimedJob.__dataclass_fields__)
    lease = {"claimed_at": now, "lease_until": now + timedelta(minutes=5)}
    return ClaimedJob(**given | {"id": job_id, "lease_token": job_id} | lease)


async def got(stream: Stream) -> int | None:
    item = await stream.next(5)
    return item.id if isinstance(item, ClaimedJob) else item


def test_a_stream_that_opens_while_the_last_one_leaves_is_served() -> None:
    async def run() -> None:
        queue, listener = Queue(), SlowListener()
        hub = hub_of(queue, listener)
        first = hub.open(1)
        assert await first.next(0.1) is None  # it lies down, and so has to leave its channel
        hub.close(first)
        await listener.is_leaving.wait()
        second = hub.open(1)
        queue.jobs.append(claimed(7))
        listener.may_leave.set()
        assert await got(second) == 7
        hub.close(second)
        await hub.finish()
        assert hub.is_idle

    asyncio.run(run())


def test_a_bug_ends_the_streams_instead_of_leaving_them_without_messages() -> None:
    async def run() -> None:
        queue, listener = Queue(), SlowListener()
        listener.may_leave.set()
        queue.breaks = True
        hub = hub_of(queue, listener)
        stream = hub.open(1)
        assert await stream.next(5) is None
        assert stream.has_ended
        queue.breaks = False
        queue.jobs.append(claimed(8))
        again = hub.open(1)
        assert await got(again) == 8
        await hub.finish()

    asyncio.run(run())
