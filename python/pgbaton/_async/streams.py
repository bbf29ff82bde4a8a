"""Jobs that are pushed to a consumer as long as it has room for them."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg

from pgbaton._arguments import Interval, several
from pgbaton._async.caller import AsyncPool
from pgbaton._async.worker import WorkerCalls
from pgbaton._calls import Required, Rows
from pgbaton._codec import Encode
from pgbaton._leases import Leases
from pgbaton._listening.listener import Listener, watchful
from pgbaton._listening.slumber import POLL, Slumber
from pgbaton._listening.waiting import happens
from pgbaton.errors import InvalidState, LeaseLost, UnknownJob
from pgbaton.models import ClaimedJob, Sleep, UnreadableJson

log = logging.getLogger("pgbaton.streams")

UNDELIVERED = "context canceled: the stream ended before the job was delivered"
ENDS_JOBS = {
    "acknowledge_cancellation",
    "complete_and_claim",
    "complete_claim",
    "complete_job",
    "complete_jobs",
    "fail_job",
    "fail_jobs",
    "mark_job_unknown_stopped",
    "release_jobs",
    "stop_job",
    "stop_job_with_retry",
}
ENDS_OTHERS = {
    "drop_queue",
    "mark_worker_unresponsive",
    "recover_stale_jobs",
    "reset_fifo_key",
    "reset_running_jobs",
    "run_maintenance",
}
LISTENING_POLL = timedelta(seconds=30)
HELD = ("ok", "cancel_requested")
PATIENCE = 10.0
"""Seconds that the end of a stream waits for a claim that is under way."""
CHECK = 1.0
"""Seconds after which a full stream looks whether others have ended its jobs."""


class Streams(WorkerCalls):
    """The streams of a client, and the ends of jobs that it hears of by its own calls."""

    _dsn: str | None = None

    def __init__(self, pool: AsyncPool, encode: Encode | None = None) -> None:
        super().__init__(pool, encode)
        self._streams: set[JobStream] = set()
        self._listeners: dict[str, Listener] = {}

    async def stream_jobs(
        self,
        worker_id: str,
        tags: Iterable[str] = (),
        max_assigned_jobs: int = 10,
        *,
        queues: Iterable[str] | None = None,
        job_types: Iterable[str] | None = None,
        lease: Interval | None = None,
        listen_dsn: str | None = None,
    ) -> AsyncIterator[list[ClaimedJob]]:
        """Pushes jobs to its consumer as soon as they are there and it may have more.

        Each stream has its own capacity. It falls when jobs are assigned, before they are
        delivered, and rises when a job ends, however it ends: by a call of this client at once,
        by somebody else's within a second or so. Leases are extended while the stream lives.

        The stream ends when the iteration does (`break`, better inside `contextlib.aclosing`),
        when its task is cancelled, when the client is closed, or with the error of a call. Jobs
        that were assigned and not delivered then go back with a message that says so.

        Args:
            worker_id (str): the assignee, 1 to 255 bytes, of one process at a time.
            tags (Iterable[str]): only jobs that carry all of them; default all jobs.
            max_assigned_jobs (int): jobs assigned at once; default 10.
            queues (Iterable[str]): where from; default all.
            job_types (Iterable[str]): only these; default all.
            lease (timedelta): how long a job is held without being extended; default the queue's.
            listen_dsn (str): a way to listen for notifications; default the client's dsn. A client
                with a pool or connection has none: it looks for jobs every second.

        Returns:
            AsyncIterator[list[ClaimedJob]]: batches of jobs that run now.

        Raises:
            UnknownQueue: there is no such queue.
            psycopg.errors.InvalidParameterValue: an argument is out of range.
        """
        stream = JobStream(
            self,
            worker_id,
            list(several(tags)),
            max_assigned_jobs,
            None if queues is None else list(several(queues)),
            None if job_types is None else list(several(job_types)),
            lease,
            self._listener(listen_dsn),
        )
        self._streams.add(stream)
        try:
            async for batch in stream.batches():
                yield batch
        finally:
            await stream.end()

    def _siblings(self, stream: JobStream) -> list[JobStream]:
        """Other streams of the same assignee."""
        return [s for s in self._streams if s is not stream and s.worker_id == stream.worker_id]

    def _listener(self, dsn: str | None) -> Listener | None:
        self._enter_process()
        dsn = dsn or self._dsn
        if dsn is None:
            return None
        return self._listeners.setdefault(dsn, Listener(watchful(dsn)))

    def _leave_parent(self) -> None:
        self._streams, self._listeners = set(), {}

    async def _end_streams(self) -> None:
        while self._streams:  # some may be opened meanwhile
            await asyncio.gather(*(stream.end() for stream in self._streams))
        for listener in self._listeners.values():
            await listener.close()

    async def _call(
        self,
        function: str,
        required: Required,
        optional: Required,
        kind: type[Any] | None = None,
    ) -> tuple[list[str], Rows]:
        answer = await super()._call(function, required, optional, kind)
        if self._streams:
            self._note(function, {**required, **optional}, answer[1])
        return answer

    def _note(self, function: str, given: Required, rows: Rows) -> None:
        """Tells the streams which jobs ended by a call."""
        if function in ENDS_OTHERS:
            for stream in self._streams:
                stream.check()
        elif function in ENDS_JOBS:
            ids, token = _ended(function, given, rows), given.get("lease_token")
            for stream in self._streams:
                stream.free(ids, None if token is None else int(str(token)))
                if function == "complete_claim":
                    stream.free_claim(int(str(token or 0)))


def _ended(function: str, given: Required, rows: Rows) -> list[int]:
    """Of a call for one job, that one, since it raised nothing; else those with verdict ok."""
    if (job_id := given.get("job_id")) is not None:
        return [int(str(job_id))]
    job_ids = given.get("job_ids")
    if job_ids is None:
        return []
    if function == "complete_and_claim":  # which names those that it refused
        refused = {job_id for verdict, _, job_id, *_ in rows if verdict != "claimed"}
        return [job_id for job_id in _ids(str(job_ids)) if job_id not in refused]
    return [job_id for _, job_id, verdict in rows if verdict == "ok"]


def _ids(array: str) -> list[int]:
    """The elements of an array as it is sent, {1,2}."""
    return [int(job_id) for job_id in array.strip("{}").split(",") if job_id]


class JobStream:
    """One call of stream_jobs."""

    def __init__(
        self,
        client: Streams,
        worker_id: str,
        tags: list[str],
        capacity: int,
        queues: list[str] | None,
        job_types: list[str] | None,
        lease: Interval | None,
        listener: Listener | None,
    ) -> None:
        self.worker_id = worker_id
        self._client = client
        self._tags, self._queues, self._job_types = tags, queues, job_types
        self._capacity, self._lease = capacity, lease
        # A sleeper has one filter, so streams of one assignee must be different sleepers.
        is_alone = not client._siblings(self)
        self._sleeper = worker_id if is_alone else f"{worker_id[:200]}/{uuid.uuid4().hex}"
        self._assigned: dict[int, ClaimedJob] = {}
        self._leases = Leases(self._assigned.values, partial(client.extend_leases, lease=lease))
        self._is_check_due = False
        self._batches: deque[list[ClaimedJob]] = deque()
        self._some = asyncio.Event()
        self._work = asyncio.Event()
        self._slumber = Slumber(listener, self._work, self._lie_down) if listener else None
        self._has_ended = False
        self._loop = asyncio.get_running_loop()
        self._pusher: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    # What the consumer does

    async def batches(self) -> AsyncIterator[list[ClaimedJob]]:
        """What is pushed, until the stream is ended; raises what the pushing raised."""
        self._pusher = self._loop.create_task(self._push())
        self._pusher.add_done_callback(lambda _: self._some.set())
        while not self._has_ended:
            if self._batches:
                yield self._batches.popleft()
            elif self._pusher.done():
                self._pusher.result()
            else:
                self._some.clear()
                await self._some.wait()

    async def end(self) -> None:
        """Ends the iteration and gives back what was not delivered."""
        if self._ending is None:
            self._ending = self._loop.create_task(self._finish())
            # Not by who waits here, who may be cancelled again.
            self._ending.add_done_callback(lambda _: self._client._streams.discard(self))
        await asyncio.shield(self._ending)

    async def _finish(self) -> None:
        self._has_ended = True
        self._some.set()
        self._work.set()
        if self._pusher is not None:
            # A claim that is under way is waited for: what it brings must go back, too.
            await asyncio.wait([self._pusher], timeout=PATIENCE)
            self._pusher.cancel()
            await asyncio.gather(self._pusher, return_exceptions=True)
        if self._slumber is not None:
            await self._slumber.end()
        while self._batches:
            await self._give_back(self._batches.popleft())

    async def _give_back(self, batch: list[ClaimedJob]) -> None:
        ids, token = [job.id for job in batch], batch[0].lease_token
        try:
            verdicts = await self._client.release_jobs(ids, token, error_message=UNDELIVERED)
            for verdict in verdicts:
                if verdict.verdict == "invalid_state":  # cancelled meanwhile, unless it has ended
                    with suppress(InvalidState, LeaseLost, UnknownJob):
                        await self._client.acknowledge_cancellation(verdict.job_id, True, token)
        except psycopg.Error as error:
            log.warning("jobs %s come back when their lease ends, since: %s", ids, error)

    # What calls of the client tell

    def free(self, job_ids: Iterable[int], lease_token: int | None = None) -> None:
        """Jobs ended: there is room for others.

        With the token only those of that claim: one that failed may be here again before the
        answer to the failure.
        """
        for job_id in job_ids:
            job = self._assigned.get(job_id)
            if job is not None and lease_token in (None, job.lease_token):
                del self._assigned[job_id]
                self._work.set()

    def free_claim(self, lease_token: int) -> None:
        self.free([id for id, job in self._assigned.items() if job.lease_token == lease_token])

    def check(self) -> None:
        """Jobs of the stream may have been ended: look soon."""
        self._is_check_due = True
        self._work.set()

    # What is done in the background

    async def _push(self) -> None:
        while not self._has_ended:
            self._work.clear()
            await self._extend()
            free = self._capacity - len(self._assigned)
            if free <= 0 and self._assigned:
                if not await self._sleep(CHECK):
                    self._is_check_due = True
                continue
            jobs = await self._claim(free)
            if len(jobs) < free and not self._has_ended:
                await self._sleep(await self._slumber.seconds() if self._slumber else POLL)

    async def _claim(self, free: int) -> list[ClaimedJob]:
        jobs = await self._client.claim_job_batch(
            self.worker_id, self._queues, self._job_types, self._tags, free, self._lease
        )
        if jobs:
            if self._slumber is not None:
                self._slumber.found()
            readable = [job for job in jobs if not isinstance(job.payload, UnreadableJson)]
            self._assigned.update((job.id, job) for job in readable)
            if readable:
                self._leases.begin(readable)
                self._batches.append(readable)
                self._some.set()
            if len(readable) < len(jobs):
                await self._fail_unreadable(jobs)
            for sibling in self._client._siblings(self):
                sibling.wake()  # the claim took its place among the sleepers away
        return jobs

    async def _fail_unreadable(self, jobs: list[ClaimedJob]) -> None:
        """Those whose payload nobody here can read; no attempt would change that."""
        bad = {job.id: str(job.payload) for job in jobs if isinstance(job.payload, UnreadableJson)}
        await self._client.fail_jobs(
            list(bad), list(bad.values()), jobs[0].lease_token, retryable=False
        )

    def wake(self) -> None:
        """Looks for work, and goes to sleep again if there is none."""
        self._work.set()

    async def _lie_down(self) -> Sleep:
        return await self._client.wait_for_jobs(
            self._sleeper, self._queues, self._job_types, self._tags, LISTENING_POLL
        )

    async def _sleep(self, seconds: float) -> bool:
        """Until something happens, which is the answer, a lease has to be extended, or so long."""
        until_due = self._leases.due - self._loop.time()
        return await happens(self._work, max(0.0, min(seconds, until_due)))

    async def _extend(self) -> None:
        """Extends the leases of which it is time, all of them when a check is due.

        Jobs that turn out to be no longer ours leave room for others.
        """
        is_check, self._is_check_due = self._is_check_due, False
        async for job, verdict in self._leases.extend(is_check):
            if verdict not in HELD:
                self._assigned.pop(job.id, None)
