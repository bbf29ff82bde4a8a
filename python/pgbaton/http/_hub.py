"""Messages pushed to streams: one claim for all streams of a caller and queue."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import psycopg

from pgbaton._async.client import AsyncClient
from pgbaton._leases import Leases, by_token
from pgbaton._listening.listener import Listener
from pgbaton._listening.slumber import POLL, Slumber
from pgbaton._listening.waiting import happens
from pgbaton.errors import InvalidState, LeaseLost, UnknownJob
from pgbaton.models import ClaimedJob, Sleep

log = logging.getLogger("pgbaton.http")

MOST_CLAIMED = 1000
SLEEP = timedelta(seconds=30)
CHECK = 10.0
"""Seconds after which it is looked whether somebody else ended a message."""
BEAT = 2.0
"""Seconds between two heartbeats while messages are out: they tell which were cancelled."""
RETURNS = 3
"""So often a message that was sent goes back for free when its stream ends."""
REMEMBERED = 10_000


class Stream:
    """What one reader holds: never more than its capacity, sent or not."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.held: dict[int, ClaimedJob] = {}
        self.outbox: deque[ClaimedJob | int] = deque()
        """Messages to send; an id alone says that the message was cancelled."""
        self.has_ended = False
        self._some = asyncio.Event()

    @property
    def free(self) -> int:
        return self.capacity - len(self.held)

    def give(self, job: ClaimedJob) -> None:
        self.held[job.id] = job
        self.put(job)

    def put(self, item: ClaimedJob | int) -> None:
        self.outbox.append(item)
        self._some.set()

    def end(self) -> None:
        self.has_ended = True
        self._some.set()

    async def next(self, seconds: float) -> ClaimedJob | int | None:
        """What is to be sent; None after so long without anything, or when it has ended."""
        if not self.outbox and not self.has_ended:
            self._some.clear()
            await happens(self._some, seconds)
        return self.outbox.popleft() if self.outbox and not self.has_ended else None


class Hub:
    """Claims for its streams, extends their leases, gives back what their ends leave."""

    def __init__(self, client: AsyncClient, listener: Listener, caller: str, queue: str) -> None:
        self._client = client
        self.queue = queue
        self.worker_id = worker_name(f"{socket.gethostname()} {os.getpid()} {caller}: {queue}")
        self.streams: dict[Stream, None] = {}
        self._left: list[ClaimedJob] = []
        self._sent_before: Counter[int] = Counter()
        self._leases = Leases(self._held, client.extend_leases, CHECK)
        self._cancelled: set[int] = set()
        self._beat_at = float("-inf")
        """Claims in a row that brought nothing."""
        self._work = asyncio.Event()
        self._slumber = Slumber(listener, self._work, self._lie_down)
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None

    # What the streams do

    async def check(self) -> None:
        """Raises what a stream of the caller would meet: no such queue, or not permitted."""
        await self._lie_down()

    def open(self, capacity: int) -> Stream:
        stream = Stream(capacity)
        self.streams[stream] = None
        self._work.set()
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._serve())
        return stream

    def close(self, stream: Stream) -> None:
        """At once; what it held goes back in the background."""
        if stream not in self.streams:
            return
        del self.streams[stream]
        waiting = {job.id for job in stream.outbox if isinstance(job, ClaimedJob)}
        for job in stream.held.values():
            if job.id in waiting or self._may_return(job.id):
                self._left.append(job)
        stream.held.clear()
        self._work.set()

    def _may_return(self, job_id: int) -> bool:
        """Not for ever: what ends every stream it is sent to has to cost attempts."""
        if len(self._sent_before) > REMEMBERED:
            self._sent_before.clear()
        self._sent_before[job_id] += 1
        return self._sent_before[job_id] <= RETURNS

    def ended(self, stream: Stream, job_id: int, lease_token: int) -> None:
        """A message was acknowledged, rejected or lost: there is room for another one."""
        held = stream.held.get(job_id)
        if held is not None and held.lease_token != lease_token:
            return  # it was rejected, and is here again before the answer to that
        self._sent_before.pop(job_id, None)
        self._cancelled.discard(job_id)
        if held is not None:
            del stream.held[job_id]
            self._work.set()

    @property
    def is_idle(self) -> bool:
        return not self.streams and (self._task is None or self._task.done())

    def is_cancelled(self, job_id: int) -> bool:
        return job_id in self._cancelled

    async def finish(self) -> None:
        """Ends all streams and waits until everything went back."""
        for stream in list(self.streams):
            stream.end()
            self.close(stream)
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    # What is done in the background

    async def _serve(self) -> None:
        # A stream may be opened while the slumber ends.
        while self.streams or self._left:
            await self._serve_streams()
            await self._slumber.end()

    async def _serve_streams(self) -> None:
        delay = 0.1
        while self.streams or self._left:
            try:
                self._work.clear()
                await self._give_back()
                await self._extend()
                await self._send_heartbeat()
                jobs = await self._claim()
                delay = 0.1
                if not jobs and not self._left:
                    await self._sleep()
            except psycopg.OperationalError as error:
                log.warning("streams of %s wait: %s", self.queue, error)
                if not self.streams:
                    self._left.clear()  # the leases end by themselves
                    return
                await asyncio.sleep(delay)
                delay = min(delay * 2, POLL)
            except psycopg.Error as error:
                log.warning("the streams of %s end: %s", self.queue, error)
                self._end_streams()
            except Exception:
                # Readers would get pings and never a message.
                log.exception("the streams of %s end", self.queue)
                self._end_streams()

    def _end_streams(self) -> None:
        for stream in list(self.streams):
            stream.end()
            self.close(stream)
        self._left.clear()

    async def _claim(self) -> list[ClaimedJob]:
        free = sum(stream.free for stream in self.streams)
        if free == 0:
            return []
        jobs = await self._client.claim_job_batch(
            self.worker_id, [self.queue], batch_size=min(free, MOST_CLAIMED)
        )
        if jobs:
            self._slumber.found()
            self._leases.begin(jobs)
            self._deal(jobs)
        return jobs

    def _deal(self, jobs: list[ClaimedJob]) -> None:
        """One after the other, so that each stream with room gets some."""
        turn = deque(stream for stream in self.streams if stream.free)
        served: dict[Stream, None] = {}
        for job in jobs:
            if not turn:  # streams have ended meanwhile
                self._left.append(job)
                continue
            stream = turn.popleft()
            stream.give(job)
            served[stream] = None
            if stream.free:
                turn.append(stream)
        for stream in served:  # the others come first next time
            self.streams[stream] = self.streams.pop(stream)

    async def _give_back(self) -> None:
        left, self._left = self._left, []
        try:
            for token, jobs in by_token(left).items():
                for verdict in await self._client.release_jobs([job.id for job in jobs], token):
                    if verdict.verdict == "invalid_state":  # cancelled, or ended
                        await self._acknowledge_cancellation(verdict.job_id, token)
        except psycopg.OperationalError:
            self._left += left
            raise

    async def _acknowledge_cancellation(self, job_id: int, token: int) -> None:
        # Its consumer may have ended it before the stream ended.
        with suppress(InvalidState, LeaseLost, UnknownJob):
            await self._client.acknowledge_cancellation(job_id, True, token)
        self._cancelled.discard(job_id)

    async def _extend(self) -> None:
        """Extends the leases of which it is time, and notices what others have ended."""
        if self._loop.time() < self._leases.due:
            return
        holders = {job_id: stream for stream in self.streams for job_id in stream.held}
        async for job, verdict in self._leases.extend():
            self._heed(holders[job.id], job.id, job.lease_token, verdict)

    def _held(self) -> Iterator[ClaimedJob]:
        return (job for stream in self.streams for job in stream.held.values())

    def _heed(self, stream: Stream, job_id: int, token: int, verdict: str) -> None:
        if verdict == "cancel_requested":
            self._cancel(stream, job_id)
        elif verdict != "ok":
            self.ended(stream, job_id, token)

    def _cancel(self, stream: Stream, job_id: int) -> None:
        if job_id not in self._cancelled:
            self._cancelled.add(job_id)
            stream.put(job_id)

    @property
    def _next_beat(self) -> float:
        is_busy = any(stream.held for stream in self.streams)
        return self._beat_at + (BEAT if is_busy else SLEEP.total_seconds())

    async def _send_heartbeat(self) -> None:
        """So that somebody is known to ask for the queue."""
        now = self._loop.time()
        if not self.streams or now < self._next_beat:
            return
        capacity = sum(stream.capacity for stream in self.streams)
        cancelled = await self._client.worker_heartbeat(self.worker_id, capacity)
        self._beat_at = now
        for stream in self.streams:
            for job_id in stream.held.keys() & cancelled:
                self._cancel(stream, job_id)

    async def _sleep(self) -> None:
        due = min(self._leases.due, self._next_beat) - self._loop.time()
        if any(stream.free for stream in self.streams):
            due = min(due, await self._slumber.seconds())
        if self.streams and not self._left:
            await happens(self._work, max(0.0, min(due, SLEEP.total_seconds())))

    async def _lie_down(self) -> Sleep:
        return await self._client.wait_for_jobs(self.worker_id, [self.queue], max_wait=SLEEP)


def worker_name(text: str) -> str:
    """As it appears among the workers, which take 255 bytes."""
    return f"http {text}".encode()[:255].decode(errors="ignore")
