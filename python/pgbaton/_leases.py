"""Leases of jobs that are held: when to extend them, and what came of it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from math import inf

from pgbaton.models import ClaimedJob, Verdict, elapsed

FEW = 10


class Leases:
    """Extends leases, all of a claim when a third of its shortest one is over.

    Args:
        held: the jobs whose leases are to be extended.
        extend: calls extend_leases, with the ids and the token of jobs of one claim.
        longest (float): seconds after which it is done in any case, for what it tells.
    """

    def __init__(
        self,
        held: Callable[[], Iterable[ClaimedJob]],
        extend: Callable[[list[int], int], Awaitable[list[Verdict]]],
        longest: float = inf,
    ) -> None:
        self._held = held
        self._extend = extend
        self._longest = longest
        self._loop = asyncio.get_running_loop()
        self._due_of: dict[int, float] = {}
        self._many = FEW
        self.due = inf
        """When the next ones have to be extended, or earlier if those are not held any more."""

    def begin(self, jobs: Sequence[ClaimedJob]) -> None:
        """Of jobs of one claim, which was made just now."""
        if len(self._due_of) >= self._many:  # most are over before they have to be extended
            self._forget_all_but(by_token(self._held()))
            self._many = max(FEW, 2 * len(self._due_of))
        self._note(jobs, self._loop.time())
        self.due = min(self.due, self._due_of[jobs[0].lease_token])

    async def extend(self, at_once: bool = False) -> AsyncIterator[tuple[ClaimedJob, str]]:
        """Extends those of which it is time, or all; yields what the database says of each."""
        now = self._loop.time()
        if now < self.due and not at_once:
            return
        claims = by_token(self._held())
        self._forget_all_but(claims)
        for token, jobs in claims.items():
            # Unknown is what was given up while another one was extended.
            if at_once or self._due_of.get(token, inf) <= now:
                began = self._loop.time()
                verdicts = await self._extend([job.id for job in jobs], token)
                self._note(jobs, began)
                for job, verdict in zip(jobs, verdicts, strict=True):
                    yield job, verdict.verdict
        self.due = min(self._due_of.values(), default=inf)

    def _note(self, jobs: Sequence[ClaimedJob], began: float) -> None:
        shortest = min(elapsed(job.claimed_at, job.lease_until) for job in jobs)
        due = began + min(shortest.total_seconds() / 3, self._longest)
        self._due_of[jobs[0].lease_token] = due

    def _forget_all_but(self, claims: dict[int, list[ClaimedJob]]) -> None:
        self._due_of = {token: due for token, due in self._due_of.items() if token in claims}


def by_token(jobs: Iterable[ClaimedJob]) -> dict[int, list[ClaimedJob]]:
    found: defaultdict[int, list[ClaimedJob]] = defaultdict(list)
    for job in jobs:
        found[job.lease_token].append(job)
    return found
