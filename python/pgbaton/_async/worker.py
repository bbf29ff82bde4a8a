"""Calls that take and finish jobs: functions/worker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pgbaton._arguments import (
    Interval,
    Json,
    boolean,
    integer,
    integers,
    interval,
    result_value,
    result_values,
    text,
    texts,
)
from pgbaton._async.caller import Caller
from pgbaton._calls import json_object
from pgbaton.models import (
    ClaimedJob,
    JobOutcome,
    JobState,
    NextJobs,
    Sleep,
    Verdict,
    job_state,
    next_jobs,
)


class WorkerCalls(Caller):
    """Role pgbaton_worker. Delivery is at least once: a handler must bear a second run."""

    async def claim_job_batch(
        self,
        worker_id: str,
        queues: Iterable[str] | None = None,
        job_types: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        batch_size: int | None = None,
        lease: Interval | None = None,
    ) -> list[ClaimedJob]:
        """Leases jobs to a worker, at most one of a FIFO key at a time.

        Args:
            worker_id (str): name of the worker, 1 to 255 bytes.
            queues (Iterable[str]): where from; default all.
            job_types (Iterable[str]): only these; default all.
            tags (Iterable[str]): only jobs that carry all of them; default {}.
            batch_size (int): jobs at most, 1 to 100000; default 10.
            lease (timedelta): how long they are held; default the queue's.

        Returns:
            list[ClaimedJob]: by priority, then in line, all with the same lease_token; empty if
            none are claimable.

        Raises:
            UnknownQueue: there is no such queue.
            psycopg.errors.InvalidParameterValue: an argument is out of range or an empty list.
        """
        return await self._rows(
            ClaimedJob,
            "claim_job_batch",
            {"worker_id": text(worker_id)},
            queues=texts(queues),
            job_types=texts(job_types),
            tags=texts(tags),
            batch_size=integer(batch_size),
            lease=interval(lease),
        )

    async def start_jobs(self, job_ids: Iterable[int], lease_token: int) -> list[Verdict]:
        """Says that claimed jobs now run; sets started_at the first time.

        Args:
            job_ids (Iterable[int]): which.
            lease_token (int): of the claim.

        Returns:
            list[Verdict]: one for each id in input order: ok, cancel_requested (stop and
            acknowledge), lease_lost, invalid_state or not_found.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None.
        """
        return await self._rows(
            Verdict,
            "start_jobs",
            {"job_ids": integers(job_ids), "lease_token": integer(lease_token)},
        )

    async def report_progress(
        self,
        job_id: int,
        lease_token: int,
        progress: int | None = None,
        current_stage: str | None = None,
        events_count: int | None = None,
    ) -> str:
        """Notes how far a job is; what is not given stays as it is.

        Args:
            job_id (int): which.
            lease_token (int): of the claim.
            progress (int): percent, 0 to 100; default unchanged.
            current_stage (str): what it is doing; default unchanged.
            events_count (int): events so far; default unchanged.

        Returns:
            str: ok, or cancel_requested: stop and acknowledge.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it is not running.
            LeaseLost: somebody else has it.
            psycopg.errors.InvalidParameterValue: an argument is out of range.
        """
        return await self._value(
            str,
            "report_progress",
            {"job_id": integer(job_id), "lease_token": integer(lease_token)},
            progress=integer(progress),
            current_stage=text(current_stage),
            events_count=integer(events_count),
        )

    async def extend_leases(
        self, job_ids: Iterable[int], lease_token: int, lease: Interval | None = None
    ) -> list[Verdict]:
        """Holds claimed jobs for another lease from now on.

        Args:
            job_ids (Iterable[int]): which.
            lease_token (int): of the claim.
            lease (timedelta): how long; default the queue's.

        Returns:
            list[Verdict]: one for each id in input order: ok, cancel_requested (extended; stop
            and acknowledge), lease_lost, invalid_state or not_found.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None.
            psycopg.errors.InvalidParameterValue: the lease is out of range.
        """
        return await self._rows(
            Verdict,
            "extend_leases",
            {"job_ids": integers(job_ids), "lease_token": integer(lease_token)},
            lease=interval(lease),
        )

    async def complete_job(
        self, job_id: int, result: Json = None, lease_token: int | None = None
    ) -> None:
        """Ends a job as completed.

        Args:
            job_id (int): which.
            result (Json): what to keep of it; default none.
            lease_token (int): of the claim; required in a FIFO queue. Default: not checked.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it is not running, for example completed before.
            LeaseLost: somebody else has it, or it holds a key and there is no lease_token.
            PayloadTooLarge: the result has more than 16 MB, 500 levels or 4,000 digits of a number.
        """
        await self._run(
            "complete_job",
            {"job_id": integer(job_id)},
            result=result_value(self._encoder.result(result, job_id)),
            lease_token=integer(lease_token),
        )

    async def complete_jobs(
        self,
        job_ids: Iterable[int],
        lease_token: int | None = None,
        results: Iterable[Json] | None = None,
    ) -> list[Verdict]:
        """Ends jobs as completed; one that is refused does not hinder the others.

        Args:
            job_ids (Iterable[int]): which.
            lease_token (int): of the claim; required in a FIFO queue. Default: not checked.
            results (Iterable[Json]): one for each job, None for none; default none.

        Returns:
            list[Verdict]: one for each id in input order: ok, lease_lost, invalid_state or
            not_found.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None in job_ids.
            psycopg.errors.ArraySubscriptError: job_ids and results differ in length.
            PayloadTooLarge: a result has more than 16 MB, 500 levels or 4,000 digits of a number;
                then none is completed.
        """
        return await self._rows(
            Verdict,
            "complete_jobs",
            {"job_ids": integers(job_ids)},
            lease_token=integer(lease_token),
            results=result_values(self._encoder.results(results, job_ids)),
        )

    async def complete_and_claim(
        self,
        job_ids: Iterable[int],
        lease_token: int | None,
        worker_id: str,
        queues: Iterable[str] | None = None,
        job_types: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        batch_size: int | None = None,
        lease: Interval | None = None,
        results: Iterable[Json] | None = None,
    ) -> NextJobs:
        """Ends the jobs of the last batch as completed and leases the next one, in one call.

        What `complete_jobs` and then `claim_job_batch` do, in one transaction: a key that a job
        held is passed on before the claim. A claim that fails does not take the completions back:
        it brings no jobs and a warning of the server, and the next claim raises.

        Args:
            job_ids (Iterable[int]): completed ones; empty to claim only.
            lease_token (int): of their claim; None: not checked, which a FIFO queue refuses.
            worker_id (str): name of the worker, 1 to 255 bytes.
            queues (Iterable[str]): where from; default all.
            job_types (Iterable[str]): only these; default all.
            tags (Iterable[str]): only jobs that carry all of them; default {}.
            batch_size (int): jobs at most, 1 to 100000; default 10.
            lease (timedelta): how long they are held; default the queue's.
            results (Iterable[Json]): one for each of job_ids, None for none; default none.

        Returns:
            NextJobs: the jobs that are leased now, all with the same lease_token, and a verdict for
            each of job_ids that was refused.

        Raises:
            UnknownQueue: there is no such queue, and no job_ids were given.
            psycopg.errors.NullValueNotAllowed: a None in job_ids.
            psycopg.errors.InvalidParameterValue: an argument is out of range or an empty list.
            psycopg.errors.ArraySubscriptError: job_ids and results differ in length.
            PayloadTooLarge: a result has more than 16 MB, 500 levels or 4,000 digits of a number;
                then none is completed and none claimed.
        """
        required = {
            "job_ids": integers(job_ids),
            "lease_token": integer(lease_token),
            "worker_id": text(worker_id),
        }
        optional = {
            "queues": texts(queues),
            "job_types": texts(job_types),
            "tags": texts(tags),
            "batch_size": integer(batch_size),
            "lease": interval(lease),
            "results": result_values(self._encoder.results(results, job_ids)),
        }
        return next_jobs(*await self._call("complete_and_claim", required, optional))

    async def complete_claim(self, lease_token: int) -> int:
        """Ends all jobs that a claim still holds as completed.

        Args:
            lease_token (int): of the claim.

        Returns:
            int: how many; 0 when nothing is left or the lease was lost.

        Raises:
            psycopg.errors.NullValueNotAllowed: lease_token is None.
        """
        return await self._value(int, "complete_claim", {"lease_token": integer(lease_token)})

    async def claimed_jobs(
        self, lease_token: int, first_id: int | None = None, last_id: int | None = None
    ) -> list[ClaimedJob]:
        """Reads what a claim still holds, for one that is worked off by several processes.

        Args:
            lease_token (int): of the claim.
            first_id (int): of a range of ids; default from the first.
            last_id (int): of that range, included; default to the last.

        Returns:
            list[ClaimedJob]: as claim_job_batch returned them.

        Raises:
            psycopg.errors.NullValueNotAllowed: lease_token is None.
        """
        return await self._rows(
            ClaimedJob,
            "claimed_jobs",
            {"lease_token": integer(lease_token)},
            first_id=integer(first_id),
            last_id=integer(last_id),
        )

    async def parent_outcomes(
        self, job_id: int, lease_token: int | None = None
    ) -> list[JobOutcome]:
        """How the jobs ended for which a running job has waited, with results and errors.

        Args:
            job_id (int): the job that runs.
            lease_token (int): of the claim; default: not checked.

        Returns:
            list[JobOutcome]: in the order of their ids; none for a job that waited for none.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it is not running.
            LeaseLost: the lease does not hold the job any more.
        """
        return await self._rows(
            JobOutcome,
            "parent_outcomes",
            {"job_id": integer(job_id)},
            lease_token=integer(lease_token),
        )

    async def fail_job(
        self,
        job_id: int,
        error_message: str,
        lease_token: int | None = None,
        retryable: bool | None = None,
        retry_in: Interval | None = None,
        error_stack: str | None = None,
    ) -> JobState:
        """Ends an attempt of a job with an error.

        Args:
            job_id (int): which.
            error_message (str): what went wrong, not empty.
            lease_token (int): of the claim; required in a FIFO queue. Default: not checked.
            retryable (bool): whether another attempt makes sense; default true.
            retry_in (timedelta): wait before it; default the job's or the queue's.
            error_stack (str): where it went wrong, of which 65,536 characters are kept for
                job_attempts; default none.

        Returns:
            JobState: retry, or failed when no attempt is left or retryable is false.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it is not running.
            LeaseLost: somebody else has it, or it holds a key and there is no lease_token.
            psycopg.errors.InvalidParameterValue: an empty message or a retry_in out of range.
        """
        return await self._value(
            job_state,
            "fail_job",
            {"job_id": integer(job_id), "error_message": text(error_message)},
            lease_token=integer(lease_token),
            retryable=boolean(retryable),
            retry_in=interval(retry_in),
            error_stack=text(error_stack),
        )

    async def fail_jobs(
        self,
        job_ids: Iterable[int],
        error_messages: Iterable[str],
        lease_token: int | None = None,
        retryable: bool | None = None,
        error_stacks: Iterable[str | None] | None = None,
    ) -> list[Verdict]:
        """Ends an attempt of each job with its error; a refused one does not hinder the others.

        Args:
            job_ids (Iterable[int]): which.
            error_messages (Iterable[str]): one for each job, not empty.
            lease_token (int): of the claim; required in a FIFO queue. Default: not checked.
            retryable (bool): whether another attempt makes sense; default true.
            error_stacks (Iterable[str | None]): where each went wrong, of which 65,536 characters
                are kept for job_attempts; default none.

        Returns:
            list[Verdict]: one for each id in input order: ok, lease_lost, invalid_state or
            not_found.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None in job_ids.
            psycopg.errors.InvalidParameterValue: an empty message.
            psycopg.errors.ArraySubscriptError: job_ids and error_messages, or error_stacks,
                differ in length.
        """
        return await self._rows(
            Verdict,
            "fail_jobs",
            {"job_ids": integers(job_ids), "error_messages": texts(error_messages)},
            lease_token=integer(lease_token),
            retryable=boolean(retryable),
            error_stacks=texts(error_stacks),
        )

    async def release_jobs(
        self,
        job_ids: Iterable[int],
        lease_token: int,
        run_in: Interval | None = None,
        error_message: str | None = None,
    ) -> list[Verdict]:
        """Gives claimed jobs back, in their old place, without counting the attempt.

        A FIFO job keeps its key.

        Args:
            job_ids (Iterable[int]): which.
            lease_token (int): of the claim.
            run_in (timedelta): when they are claimable again; default 0, at once.
            error_message (str): what is kept as the last error of each; default unchanged.

        Returns:
            list[Verdict]: one for each id in input order: ok, lease_lost, invalid_state or
            not_found.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None.
            psycopg.errors.InvalidParameterValue: run_in is out of range.
        """
        return await self._rows(
            Verdict,
            "release_jobs",
            {"job_ids": integers(job_ids), "lease_token": integer(lease_token)},
            run_in=interval(run_in),
            error_message=text(error_message),
        )

    async def stop_job(
        self, job_id: int, error_message: str | None = None, lease_token: int | None = None
    ) -> None:
        """Ends a running or recovered job as stopped: it is not run again.

        Args:
            job_id (int): which.
            error_message (str): why; default ''.
            lease_token (int): of the claim; required in a FIFO queue, where the next job of the
                key then runs. Default: not checked.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it is not running.
            LeaseLost: somebody else has it, or it holds a key and there is no lease_token.
        """
        await self._run(
            "stop_job",
            {"job_id": integer(job_id)},
            error_message=text(error_message),
            lease_token=integer(lease_token),
        )

    async def stop_job_with_retry(
        self, job_id: int, error_message: str, lease_token: int | None = None
    ) -> None:
        """Ends a job that failed while it was being cancelled: stopped, one retry counted.

        Args:
            job_id (int): which.
            error_message (str): what went wrong, not empty.
            lease_token (int): of the claim; required in a FIFO queue. Default: not checked.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it is not being cancelled.
            LeaseLost: somebody else has it, or it holds a key and there is no lease_token.
            psycopg.errors.InvalidParameterValue: an empty message.
        """
        await self._run(
            "stop_job_with_retry",
            {"job_id": integer(job_id), "error_message": text(error_message)},
            lease_token=integer(lease_token),
        )

    async def mark_job_unknown_stopped(self, job_id: int, error_message: str | None = None) -> None:
        """Ends a job of which nobody knows whether it still runs, as unknown_stopped.

        If it held its key, the next job runs. Its own late completion is still accepted.

        Args:
            job_id (int): which.
            error_message (str): why; default ''.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it is neither running nor recovered.
        """
        await self._run(
            "mark_job_unknown_stopped",
            {"job_id": integer(job_id)},
            error_message=text(error_message),
        )

    async def acknowledge_cancellation(
        self, job_id: int, was_executing: bool, lease_token: int | None = None
    ) -> None:
        """The worker's answer to a cancellation; the next job of its key runs.

        Args:
            job_id (int): which.
            was_executing (bool): true when the worker had it, which ends as stopped; false when
                it did not know it, which ends as unknown_stopped.
            lease_token (int): of the claim; required in a FIFO queue. Default: not checked.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it is not being cancelled.
            LeaseLost: somebody else has it, or it holds a key and there is no lease_token.
            psycopg.errors.NullValueNotAllowed: was_executing is None.
        """
        await self._run(
            "acknowledge_cancellation",
            {"job_id": integer(job_id), "was_executing": boolean(was_executing)},
            lease_token=integer(lease_token),
        )

    async def worker_heartbeat(
        self, worker_id: str, capacity: int | None = None, tags: Iterable[str] | None = None
    ) -> list[int]:
        """Notes that a worker lives.

        Args:
            worker_id (str): name of the worker, 1 to 255 bytes.
            capacity (int): jobs it can run at once; default unknown.
            tags (Iterable[str]): what it asks for; default {}.

        Returns:
            list[int]: ids of its jobs that somebody cancelled: stop them and acknowledge.

        Raises:
            psycopg.errors.InvalidParameterValue: an argument is out of range.
        """
        return await self._value(
            list,
            "worker_heartbeat",
            {"worker_id": text(worker_id)},
            capacity=integer(capacity),
            tags=texts(tags),
        )

    async def unregister_worker(self, worker_id: str) -> bool:
        """Notes that a worker has stopped, so that `list_workers` no longer shows it.

        Args:
            worker_id (str): name of the worker, 1 to 255 bytes.

        Returns:
            bool: whether it had sent a heartbeat.

        Raises:
            psycopg.errors.InvalidParameterValue: an argument is out of range.
        """
        return await self._value(bool, "unregister_worker", {"worker_id": text(worker_id)})

    async def mark_worker_unresponsive(self, worker_id: str) -> int:
        """Takes all jobs from a worker.

        Running ones run again (failed when no attempt is left), those being cancelled end as
        unknown_stopped. What the worker still sends with its old lease is refused.

        Args:
            worker_id (str): name of the worker, 1 to 255 bytes.

        Returns:
            int: how many.

        Raises:
            psycopg.errors.InvalidParameterValue: the name is empty or too long.
        """
        return await self._value(int, "mark_worker_unresponsive", {"worker_id": text(worker_id)})

    async def wait_for_jobs(
        self,
        worker_id: str,
        queues: Iterable[str] | None = None,
        job_types: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        max_wait: Interval | None = None,
    ) -> Sleep:
        """Says that a worker goes to sleep until there is work for it.

        It listens on the channel first, on a connection of its own, calls this in a transaction
        of its own, sleeps until it is notified or the wait is over, and claims.

        Args:
            worker_id (str): name of the worker, 1 to 255 bytes.
            queues (Iterable[str]): where it claims from; default all.
            job_types (Iterable[str]): only these; default all.
            tags (Iterable[str]): only jobs that carry all of them; default {}.
            max_wait (timedelta): how long at most; a job that is enqueued in a transaction open
                at this moment may not notify. Default 30 seconds.

        Returns:
            Sleep: the channel and how long: 0 when there is work now, never longer than until
            the next job is due.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: an argument is out of range or an empty list.
        """
        return await self._row(
            Sleep,
            "wait_for_jobs",
            {"worker_id": text(worker_id)},
            queues=texts(queues),
            job_types=texts(job_types),
            tags=texts(tags),
            max_wait=interval(max_wait),
        )

    async def run_maintenance(self, once_a_minute: bool | None = None) -> dict[str, Any]:
        """Upkeep for once a minute; cheap when there is nothing to do.

        It runs schedules, recovers ended leases, makes due jobs claimable, expires dead letters,
        makes partitions ahead and drops days that are over. Call it in a transaction of its own,
        under READ COMMITTED, as a client with a DSN does: under another level no day is dropped.

        Args:
            once_a_minute (bool): skip when anybody did it since the full minute, as each Worker
                asks for it; default false.

        Returns:
            dict[str, Any]: what it did; {"skipped": ...} when another session is at it, or did it.
        """
        return await self._value(
            json_object, "run_maintenance", {}, once_a_minute=boolean(once_a_minute)
        )
