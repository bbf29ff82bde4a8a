"""What the gateway remembers between requests."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from starlette.requests import Request

from pgbaton._async.client import AsyncClient
from pgbaton._listening.listener import Listener, watchful
from pgbaton.http._hub import Hub, Stream
from pgbaton.http._roles import Clients
from pgbaton.http._settings import Caller, Settings
from pgbaton.http._watch import BETWEEN, Watch
from pgbaton.models import ClaimedJob, elapsed


@dataclass(frozen=True)
class Claim:
    """A message that was handed to a caller."""

    queue: str
    lease_token: int
    until: float
    """When it is no longer worth to remember, on the clock of time.monotonic."""
    hub: Hub | None = None
    stream: Stream | None = None


class Claims:
    """The lease tokens of what one caller got here: a client acknowledges by id alone."""

    def __init__(self) -> None:
        self._claims: dict[int, Claim] = {}

    def note(self, job: ClaimedJob, hub: Hub | None = None, stream: Stream | None = None) -> None:
        self._forget_the_old()
        lease = elapsed(job.claimed_at, job.lease_until).total_seconds()
        self._claims.pop(job.id, None)  # the newest stand last
        self._claims[job.id] = Claim(
            job.queue, job.lease_token, time.monotonic() + lease, hub, stream
        )

    def _forget_the_old(self) -> None:
        now = time.monotonic()
        while self._claims:
            job_id, claim = next(iter(self._claims.items()))
            if claim.stream is not None and job_id in claim.stream.held:
                self._claims[job_id] = self._claims.pop(job_id)
                return
            if claim.until > now:
                return
            del self._claims[job_id]

    def token_of(self, queue: str, job_id: int) -> int | None:
        claim = self._claims.get(job_id)
        return claim.lease_token if claim is not None and claim.queue == queue else None

    def is_cancelled(self, job_id: int) -> bool:
        claim = self._claims.get(job_id)
        return claim is not None and claim.hub is not None and claim.hub.is_cancelled(job_id)

    def forget(self, job_id: int, lease_token: int | None) -> None:
        """That claim is finished or lost: its stream may have another message."""
        claim = self._claims.get(job_id)
        if claim is None or claim.lease_token != lease_token:
            return
        del self._claims[job_id]
        if claim.hub is not None and claim.stream is not None:
            claim.hub.ended(claim.stream, job_id, claim.lease_token)


@dataclass
class Gateway:
    """One running gateway."""

    settings: Settings
    clients: Clients = field(init=False)
    listener: Listener = field(init=False)
    hubs: dict[tuple[str, str], Hub] = field(default_factory=dict)
    claims: dict[str, Claims] = field(default_factory=dict)
    watches: dict[str, Watch] = field(default_factory=dict)
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Whoever asks the database whether it is there."""
    asked_at: float = -1e9
    """When it was asked last, on the clock of time.monotonic."""
    is_ready: bool = False
    """What it answered."""

    def __post_init__(self) -> None:
        self.clients = Clients(self.settings)
        self.listener = Listener(watchful(self.settings.dsn))
        self._loop = asyncio.get_running_loop()

    def hub(self, caller: Caller, queue: str) -> Hub:
        if (caller.name, queue) not in self.hubs:
            self._forget_idle_hubs()
            self.hubs[caller.name, queue] = Hub(
                self.clients.of(caller), self.listener, caller.name, queue
            )
        return self.hubs[caller.name, queue]

    def _forget_idle_hubs(self) -> None:
        """Names of queues come from outside: only those with streams are kept."""
        self.hubs = {key: hub for key, hub in self.hubs.items() if not hub.is_idle}

    def watch(self, caller: Caller) -> Watch:
        """What the page of that caller shows."""
        if caller.name not in self.watches:
            self.watches[caller.name] = Watch(
                self.clients.of(caller),
                self.settings.refresh,
                lambda: self.clients.clock_of(caller),
            )
        return self.watches[caller.name]

    async def remember(self) -> None:
        """Looks for the charts of pages that are opened later, without end."""
        callers = [self.settings.anyone]
        if self.settings.callers is not None:
            callers = list(self.settings.callers.values())
        while True:
            for caller in callers:
                await self.watch(caller).look_back()
            await asyncio.sleep(BETWEEN)

    def end_streams(self) -> None:
        """From a signal handler: readers see a whole answer, not one that breaks off."""
        self._loop.call_soon_threadsafe(self._end_streams)

    def _end_streams(self) -> None:
        for hub in self.hubs.values():
            for stream in hub.streams:
                stream.end()
        for watch in self.watches.values():
            watch.end()

    async def close(self) -> None:
        await asyncio.gather(*(hub.finish() for hub in self.hubs.values()))
        await self.listener.close()
        await self.clients.pool.close()


@dataclass(frozen=True)
class State:
    """The gateway as one caller has it."""

    gateway: Gateway
    caller: Caller

    @property
    def settings(self) -> Settings:
        return self.gateway.settings

    @property
    def client(self) -> AsyncClient:
        return self.gateway.clients.of(self.caller)

    def connection(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]:
        return self.gateway.clients.pool_of(self.caller).connection()

    async def clock(self) -> datetime:
        """What time it is in the database."""
        return await self.gateway.clients.clock_of(self.caller)

    @property
    def claims(self) -> Claims:
        return self.gateway.claims.setdefault(self.caller.name, Claims())

    def hub(self, queue: str) -> Hub:
        return self.gateway.hub(self.caller, queue)


def state_of(request: Request) -> State:
    return State(request.app.state.gateway, request.state.caller)
