"""Leases that are extended while jobs are held: what workers, streams and the gateway share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from pgbaton import ClaimedJob, Verdict
from pgbaton._leases import Leases

CLAIMED_AT = datetime(2030, 1, 1, tzinfo=UTC)


def claimed(job_id: int, token: int, seconds: float = 30) -> ClaimedJob:
    given: dict[str, Any] = dict.fromkeys(ClaimedJob.__dataclass_fields__)
    lease = {"claimed_at": CLAIMED_AT, "lease_until": CLAIMED_AT + timedelta(seconds=seconds)}
    return ClaimedJob(**given | {"id": job_id, "lease_token": token} | lease)


class Story:
    """Leases whose clock the test sets, and the calls that they made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, longest: float = inf) -> None:
        self.now = 1000.0
        self.held: list[ClaimedJob] = []
        self.calls: list[tuple[int, list[int]]] = []
        self.answer: Callable[[int], str] = lambda job_id: "ok"
        self.meanwhile: Callable[[], None] = lambda: None
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: self.now)
        self.leases = Leases(lambda: self.held, self._extend, longest)

    async def _extend(self, ids: list[int], token: int) -> list[Verdict]:
        self.calls.append((token, ids))
        self.meanwhile()
        return [Verdict(n, job_id, self.answer(job_id)) for n, job_id in enumerate(ids, start=1)]

    def claim(self, *jobs: ClaimedJob) -> None:
        self.held += jobs
        self.leases.begin(jobs)

    async def extend(self, at_once: bool = False) -> list[tuple[int, str]]:
        return [(job.id, verdict) async for job, verdict in self.leases.extend(at_once)]


def told(story: Callable[[Story], Awaitable[None]], **given: Any) -> None:
    async def run() -> None:
        with pytest.MonkeyPatch.context() as monkeypatch:
            await story(Story(monkeypatch, **given))

    asyncio.run(run())


def test_a_claim_is_extended_when_a_third_of_its_shortest_lease_is_over() -> None:
    async def story(s: Story) -> None:
        s.claim(claimed(1, 7, 90), claimed(2, 7, 30))
        assert s.leases.due == 1010
        s.now = 1009.9
        assert (await s.extend(), s.calls) == ([], [])
        s.now = 1010
        assert await s.extend() == [(1, "ok"), (2, "ok")]
        assert s.calls == [(7, [1, 2])]
        assert s.leases.due == 1020

    told(story)


@pytest.mark.parametrize("at", ["2027-03-28 00:59:50+00:00", "2027-10-31 00:59:50+00:00"])
def test_a_lease_across_a_change_of_clocks_is_as_long_as_any(at: str) -> None:
    """Instants are in the session's time zone, and Python subtracts what its clocks show."""

    async def story(s: Story) -> None:
        at_home = ZoneInfo("Europe/Berlin")
        begin = datetime.fromisoformat(at)
        job, end = claimed(1, 7), begin + timedelta(seconds=30)
        times = {"claimed_at": begin.astimezone(at_home), "lease_until": end.astimezone(at_home)}
        s.claim(replace(job, **times))
        assert s.leases.due == 1010

    told(story)


def test_each_claim_has_a_time_of_its_own() -> None:
    async def story(s: Story) -> None:
        s.claim(claimed(1, 7, 30))
        s.now = 1005
        s.claim(claimed(2, 8, 30))
        s.now = 1011
        assert await s.extend() == [(1, "ok")]
        assert s.leases.due == 1015
        assert await s.extend(at_once=True) == [(1, "ok"), (2, "ok")]
        assert s.leases.due == 1021

    told(story)


def test_what_is_held_no_more_is_not_extended() -> None:
    async def story(s: Story) -> None:
        s.claim(claimed(1, 7), claimed(2, 7))
        s.claim(claimed(3, 8))
        del s.held[1:]
        s.now = 1010
        assert await s.extend() == [(1, "ok")]
        s.held.clear()
        s.now = 1020
        assert await s.extend() == []
        assert s.leases.due == inf

    told(story)


def test_verdicts_are_handed_on_as_they_come() -> None:
    """What one call said is known although the next one fails, which is tried again."""

    async def story(s: Story) -> None:
        s.claim(claimed(1, 7))
        s.claim(claimed(2, 8))
        s.answer = lambda job_id: "lease_lost" if job_id == 1 else fail()
        s.now = 1010
        extending = s.leases.extend()
        job, verdict = await anext(extending)
        assert (job.id, verdict) == (1, "lease_lost")
        with pytest.raises(psycopg.OperationalError):
            await anext(extending)
        s.answer = lambda job_id: "ok"
        assert s.leases.due <= s.now
        assert await s.extend() == [(2, "ok")]

    def fail() -> str:
        raise psycopg.OperationalError("the server is away")

    told(story)


def test_a_lease_begins_before_the_call_that_extends_it() -> None:
    """The server may have counted from then on."""

    async def story(s: Story) -> None:
        s.claim(claimed(1, 7, 30))
        s.now = 1010
        s.meanwhile = lambda: setattr(s, "now", 1014)
        await s.extend()
        assert s.leases.due == 1020

    told(story)


def test_a_claim_that_is_made_while_others_are_extended_is_kept() -> None:
    async def story(s: Story) -> None:
        s.claim(claimed(1, 7, 30))
        s.now = 1010
        s.meanwhile = lambda: s.claim(claimed(2, 8, 3))
        assert await s.extend() == [(1, "ok")]
        assert s.leases.due == 1011

    told(story)


def test_what_goes_while_others_are_extended_is_left_alone() -> None:
    async def story(s: Story) -> None:
        for token in range(10):
            s.claim(claimed(token, token))

        def others_end() -> None:
            del s.held[1:]
            s.claim(claimed(99, 99))  # whereupon those that are over are forgotten

        s.now = 1010
        s.meanwhile = others_end
        assert await s.extend() == [(0, "ok")]
        assert s.leases.due == 1020

    told(story)


def test_not_more_is_remembered_than_twice_what_is_held() -> None:
    async def story(s: Story) -> None:
        for token in range(1000):
            s.held = s.held[-4:]
            s.claim(claimed(token, token))
            assert len(s.leases._due_of) <= 11

    told(story)


def test_some_want_to_know_more_often() -> None:
    async def story(s: Story) -> None:
        s.claim(claimed(1, 7, 300))
        assert s.leases.due == 1010

    told(story, longest=10)
