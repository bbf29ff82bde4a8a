"""The hub of the streams, with a client and a listener that do as the test says."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import psycopg

from pgbaton import InvalidState
from pgbaton._async.client import AsyncClient
from pgbaton._listening.listener import Listener
from pgbaton.http._hub import Hub, Stream
from pgbaton.http._queue import PING, events_of
from pgbaton.http._state import Claims, State
from pgbaton.models import ClaimedJob, Sleep, Verdict


class Queue:
    """Answers like a client: one new job for each claim while it has any."""

    def __init__(self) -> None:
        self.jobs: list[ClaimedJob] = []
        self.cancelled: set[int] = set()
        self.acknowledged: list[int] = []
        self.breaks = False

    async def claim_job_batch(self, *_: Any, **__: Any) -> list[ClaimedJob]:
        if self.breaks:
            raise KeyError("a bug")
        return [self.jobs.pop()] if self.jobs else []

    async def wait_for_jobs(self, *_: Any, **__: Any) -> Sleep:
        return Sleep("channel", timedelta(seconds=30))

    async def worker_heartbeat(self, *_: Any) -> set[int]:
        return self.cancelled

    async def release_jobs(self, job_ids: list[int], _: int) -> list[Verdict]:
        verdicts = ["invalid_state" if job_id in self.cancelled else "ok" for job_id in job_ids]
        return list(map(Verdict, range(len(job_ids)), job_ids, verdicts))

    async def extend_leases(self, job_ids: list[int], _: int) -> list[Verdict]:
        return [Verdict(n, job_id, "ok") for n, job_id in enumerate(job_ids, start=1)]

    async def acknowledge_cancellation(self, job_id: int, *_: Any) -> None:
        self.acknowledged.append(job_id)
        if len(self.acknowledged) == 1:
            raise psycopg.OperationalError("the server was away")
        raise InvalidState("the consumer has rejected it")


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


def claimed(job_id: int, token: int | None = None) -> ClaimedJob:
    now = datetime.now(UTC)
    given: dict[str, Any] = dict.fromkeys(ClaimedJob.__dataclass_fields__)
    lease = {"claimed_at": now, "lease_until": now + timedelta(minutes=5)}
    return ClaimedJob(**given | {"id": job_id, "lease_token": token or job_id} | lease)


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


def test_a_message_that_comes_again_before_the_answer_to_its_rejection_is_kept() -> None:
    """Rejected with a retry at once: the claim is faster than the answer to the rejection."""

    async def run() -> None:
        queue, listener = Queue(), SlowListener()
        listener.may_leave.set()
        hub, claims = hub_of(queue, listener), Claims()
        stream = hub.open(2)
        queue.jobs.append(claimed(7, token=1))
        hub._work.set()
        first = await stream.next(5)
        assert isinstance(first, ClaimedJob)
        claims.note(first, hub, stream)
        queue.jobs.append(claimed(7, token=2))
        hub._work.set()
        second = await stream.next(5)
        claims.forget(7, 1)
        assert stream.held == {7: second}
        claims.note(stream.held[7], hub, stream)
        claims.forget(7, 2)
        assert stream.held == {}
        await hub.finish()

    asyncio.run(run())


def test_a_claim_that_was_lost_before_it_was_sent_is_not_sent() -> None:
    """The reader is slow, and gets the message of the second claim only."""

    async def run() -> None:
        queue, listener = Queue(), SlowListener()
        listener.may_leave.set()
        hub = hub_of(queue, listener)
        settings = SimpleNamespace(ping=0.1)
        state = SimpleNamespace(hub=lambda _: hub, settings=settings, claims=Claims())
        events = events_of(cast(State, state), "q", 1, with_token=True)
        assert await anext(events) == PING
        [stream] = hub.streams
        stream.give(claimed(7, token=1))
        hub.ended(stream, 7, 1)
        stream.give(claimed(7, token=2))
        assert b'"leaseToken":"2"' in await anext(events)
        assert await anext(events) == PING
        await hub.finish()

    asyncio.run(run())


def test_a_cancelled_message_whose_stream_ends_ends_no_other_stream() -> None:
    """The consumer rejected it just before: there is nothing left to acknowledge."""

    async def run() -> None:
        queue, listener = Queue(), SlowListener()
        listener.may_leave.set()
        hub = hub_of(queue, listener)
        other, stream = hub.open(1), hub.open(1)
        queue.jobs += [claimed(2), claimed(1)]
        assert (await got(other), await got(stream)) == (1, 2)
        queue.cancelled.add(2)
        assert await got(stream) == 2  # the event that says so
        hub.close(stream)
        hub.ended(other, 1, 1)
        queue.jobs.append(claimed(3))
        assert await got(other) == 3
        assert queue.acknowledged == [2, 2]
        assert not other.has_ended
        assert hub._cancelled == set()
        await hub.finish()

    asyncio.run(run())
