"""Tells the server how runs ended, many in one call."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import psycopg

from pgbaton._async.client import AsyncClient
from pgbaton._listening.waiting import happens
from pgbaton._runtime.outcomes import Completed, Failed, Outcome, Released, Stopped, cleaned
from pgbaton._runtime.running import Run
from pgbaton.errors import InvalidState, LeaseLost, UnknownJob
from pgbaton.models import JobState, Verdict

log = logging.getLogger("pgbaton.worker")

T = TypeVar("T")
Call = Callable[[], Awaitable[T]]
Ended = tuple[Run, Outcome]
Along = Callable[[list[int], int, "list[Any] | None", Sequence[Run]], Awaitable["list[str] | None"]]
DELAY = 0.003
"""Seconds that an outcome waits for others while other handlers still run."""


class Acknowledger:
    """Collects outcomes and sends them: at once when nothing else runs, else every few ms.

    Args:
        client (AsyncClient): to call.
        patiently: makes a call, again and again while the database is away.
        is_worth_waiting: whether more outcomes may come soon.
        size (int): outcomes that do not wait for more.
        keeps_stacks (bool): whether the server is told where a handler failed.
        claim_along: completes jobs together with a claim, if one is due: see `Engine`.
        freed: called with the runs that are off the worker's hands.
        noted: called with each outcome that the server took.
    """

    def __init__(
        self,
        client: AsyncClient,
        patiently: Callable[[Call[Any]], Awaitable[Any]],
        is_worth_waiting: Callable[[], bool],
        size: int,
        keeps_stacks: bool,
        claim_along: Along,
        freed: Callable[[Sequence[Run]], None],
        noted: Callable[[Run, Outcome], None],
    ) -> None:
        self._client = client
        self._patiently = patiently
        self._is_worth_waiting = is_worth_waiting
        self._size = size
        self._keeps_stacks = keeps_stacks
        self._claim_along = claim_along
        self._freed = freed
        self._noted = noted
        self._ended: list[Ended] = []
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self.is_idle = asyncio.Event()
        self.is_idle.set()

    def add(self, run: Run, outcome: Outcome) -> None:
        self._ended.append((run, outcome))
        self.is_idle.clear()
        self._some.set()
        if len(self._ended) >= self._size or not self._is_worth_waiting():
            self._enough.set()

    async def serve(self) -> None:
        while True:
            await self._some.wait()
            if not self._enough.is_set():
                await happens(self._enough, DELAY)
            ended, self._ended = self._ended, []
            self._some.clear()
            self._enough.clear()
            await self._send(ended)
            self._freed([run for run, _ in ended])
            if not self._ended:
                self.is_idle.set()

    async def _send(self, ended: list[Ended]) -> None:
        groups: defaultdict[tuple[Any, ...], list[Ended]] = defaultdict(list)
        for run, outcome in ended:
            groups[_group(run, outcome)].append((run, outcome))
        # A claim that comes along with the last one finds the room of all.
        *others, last = sorted(groups.values(), key=_is_completed_then_size)
        for group in others:
            await self._send_group(group)
        await self._send_group(last, [run for run, _ in ended])

    async def _send_group(self, group: list[Ended], all_ended: Sequence[Run] = ()) -> None:
        """Sends outcomes of one kind; with all that ended, a claim may come along."""
        tries = 0

        async def call() -> list[str]:
            nonlocal tries
            tries += 1
            return await self._call(group, all_ended)

        try:
            verdicts = await self._patiently(call)
        except (psycopg.Error, TypeError, ValueError) as error:
            # One of them cannot be stored, or not even sent: find it. Or it is the claim.
            if len(group) > 1 or all_ended:
                for ended in group:
                    await self._send_group([ended])
            else:
                await self._give_up(*group[0], error)
            return
        for (run, outcome), verdict in zip(group, verdicts, strict=True):
            # What was sent before the connection broke may have arrived.
            if verdict == "ok" or tries > 1:
                self._noted(run, outcome)
            else:
                await self._refused(run, outcome, verdict)

    async def _call(self, group: list[Ended], all_ended: Sequence[Run]) -> list[str]:
        """One call for outcomes that differ in nothing but the job; returns the verdicts."""
        first, outcome = group[0]
        ids, token = [run.job.id for run, _ in group], first.job.lease_token
        if isinstance(outcome, Completed):
            results = _results(group)
            if all_ended:
                verdicts = await self._claim_along(ids, token, results, all_ended)
                if verdicts is not None:
                    return verdicts
            if len(group) > 1:
                return _words(await self._client.complete_jobs(ids, token, results))
        if isinstance(outcome, Failed) and outcome.retry_in is None:
            failed = [o for _, o in group if isinstance(o, Failed)]
            messages = [o.message for o in failed]
            stacks = [o.report or None for o in failed] if self._keeps_stacks else [None]
            return _words(
                await self._client.fail_jobs(
                    ids, messages, token, not outcome.is_permanent, stacks if any(stacks) else None
                )
            )
        if isinstance(outcome, Released):
            return _words(await self._client.release_jobs(ids, token, outcome.run_in))
        try:
            if isinstance(outcome, Completed):  # the short way for one job
                await self._client.complete_job(ids[0], outcome.result, token)
            elif isinstance(outcome, Failed):
                stack = (outcome.report or None) if self._keeps_stacks else None
                await self._client.fail_job(
                    ids[0], outcome.message, token, True, outcome.retry_in, stack
                )
            elif outcome.message:
                await self._client.stop_job_with_retry(ids[0], outcome.message, token)
            else:
                await self._client.acknowledge_cancellation(ids[0], True, token)
        except InvalidState:
            return ["invalid_state"]
        except LeaseLost:
            return ["lease_lost"]
        except UnknownJob:
            return ["not_found"]
        return ["ok"]

    async def _refused(self, run: Run, outcome: Outcome, verdict: str) -> None:
        """A job that somebody cancelled takes no failure and no release: then it is stopped.

        One that its handler completed is what it should be.
        """
        if verdict == "invalid_state" and isinstance(outcome, Failed | Released):
            message = outcome.message if isinstance(outcome, Failed) else ""
            await self._send_group([(run, Stopped(message))])
            return
        is_ended = verdict == "invalid_state" and isinstance(outcome, Completed)
        if is_ended and await self._is_completed(run):
            self._noted(run, outcome)
            return
        job = run.job
        log.warning(
            "job %s of queue %s: %s, so its outcome %s was dropped",
            job.id,
            job.queue,
            verdict,
            type(outcome).__name__,
            extra={
                "pgbaton_event": "dropped",
                "job_id": job.id,
                "queue": job.queue,
                "verdict": verdict,
            },
        )

    async def _is_completed(self, run: Run) -> bool:
        """Whether its handler completed it: under this claim, none came after it."""
        try:
            found = await self._patiently(lambda: self._client.get_job(run.job.id))
        except psycopg.Error:  # this role may work and not look
            return False
        return found.state is JobState.COMPLETED and found.claimed_at == run.job.claimed_at

    async def _give_up(self, run: Run, outcome: Outcome, error: Exception) -> None:
        """The database takes neither the outcome nor, should it come to that, its failure."""
        log.error(
            "job %s of queue %s: its outcome could not be stored: %s",
            run.job.id,
            run.job.queue,
            error,
            extra={"pgbaton_event": "not stored", "job_id": run.job.id, "queue": run.job.queue},
        )
        if (failure := _failure_instead(outcome, error)) is not None:
            await self._send_group([(run, failure)])


def _failure_instead(outcome: Outcome, error: Exception) -> Failed | None:
    """What can be stored of an outcome with a result or a delay that cannot be."""
    if isinstance(outcome, Completed):
        return Failed(cleaned(f"its result could not be stored: {error}"))
    if isinstance(outcome, Released):
        return Failed(cleaned(f"its delay could not be stored: {error}"))
    if isinstance(outcome, Failed) and outcome.retry_in is not None:
        said = f"{outcome.message} (its delay could not be stored: {error})"
        return Failed(cleaned(said), report=outcome.report)
    return None


def _group(run: Run, outcome: Outcome) -> tuple[Any, ...]:
    """Outcomes of one group are sent in one call."""
    token = run.job.lease_token
    if isinstance(outcome, Completed):
        return (Completed, token)
    if isinstance(outcome, Failed) and outcome.retry_in is None:
        return (Failed, token, outcome.is_permanent)
    if isinstance(outcome, Released):
        return (Released, token, outcome.run_in)
    return (run.job.id,)


def _is_completed_then_size(group: list[Ended]) -> tuple[bool, int]:
    return isinstance(group[0][1], Completed), len(group)


def _results(group: list[Ended]) -> list[Any] | None:
    results = [outcome.result for _, outcome in group if isinstance(outcome, Completed)]
    return results if any(result is not None for result in results) else None


def _words(verdicts: list[Verdict]) -> list[str]:
    return [verdict.verdict for verdict in verdicts]
