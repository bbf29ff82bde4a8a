"""Calls that look into trouble and end it: functions/operator."""

from __future__ import annotations

from pgbaton._arguments import Interval, boolean, integer, interval, text
from pgbaton._calls import Caller
from pgbaton.models import BlockedKey


class OperatorCalls(Caller):
    """Role pgbaton_operator."""

    def get_blocked_keys(self, queue: str) -> list[str]:
        """Keys of a FIFO queue that a failed job holds.

        retry_job, skip_job or delete_job of that job lets them go on.

        Args:
            queue (str): its name.

        Returns:
            list[str]: the keys, sorted.

        Raises:
            UnknownQueue: there is no such queue.
        """
        return self._values(str, "get_blocked_keys", {"queue": text(queue)})

    def blocked_keys(
        self, queue: str | None = None, include_busy: bool | None = None
    ) -> list[BlockedKey]:
        """Keys that a failed job holds, or one that waits to be retried.

        Args:
            queue (str): of this one; default of all.
            include_busy (bool): keys whose job runs or is about to, as well; default false.

        Returns:
            list[BlockedKey]: longest blocked first.

        Raises:
            UnknownQueue: there is no such queue.
        """
        return self._rows(
            BlockedKey,
            "blocked_keys",
            {},
            queue=text(queue),
            include_busy=boolean(include_busy),
        )

    def retry_job(self, queue: str, job_id: int, extra_attempts: int | None = None) -> None:
        """Runs a failed job again: same id, same place in its key.

        Its key stays blocked until it has ended.

        Args:
            queue (str): where it is.
            job_id (int): which.
            extra_attempts (int): attempts to grant beyond its limit; default 1.

        Raises:
            UnknownQueue: there is no such queue.
            UnknownJob: there is no such job in the queue.
            InvalidState: it has not failed.
            psycopg.errors.InvalidParameterValue: extra_attempts is out of range.
        """
        self._run(
            "retry_job",
            {"queue": text(queue), "job_id": integer(job_id)},
            extra_attempts=integer(extra_attempts),
        )

    def skip_job(self, queue: str, job_id: int, reason: str | None = None) -> None:
        """Gives up a failed job: it goes to history as skipped, the next job of its key runs.

        Args:
            queue (str): where it is.
            job_id (int): which.
            reason (str): for the audit; default none.

        Raises:
            UnknownQueue: there is no such queue.
            UnknownJob: there is no such job in the queue.
            InvalidState: it has not failed.
        """
        self._run(
            "skip_job", {"queue": text(queue), "job_id": integer(job_id)}, reason=text(reason)
        )

    def delete_job(self, queue: str, job_id: int) -> None:
        """Takes a job that is not running out of the queue; it goes to history as deleted.

        If it held its key, the next job runs.

        Args:
            queue (str): where it is.
            job_id (int): which.

        Raises:
            UnknownQueue: there is no such queue.
            UnknownJob: there is no such job in the queue.
            InvalidState: it is running or has ended.
        """
        self._run("delete_job", {"queue": text(queue), "job_id": integer(job_id)})

    def why_not_running(self, job_id: int) -> str:
        """Says why a job is not running, and which call helps.

        Args:
            job_id (int): which.

        Returns:
            str: one sentence.

        Raises:
            UnknownJob: there is no such job.
        """
        return self._value(str, "why_not_running", {"job_id": integer(job_id)})

    def recover_stale_jobs(self, timeout: Interval | None = None, queue: str | None = None) -> int:
        """Takes back jobs whose lease has ended; claims and run_maintenance do so by themselves.

        They run again, or are failed when no attempt is left.

        Args:
            timeout (timedelta): all that were claimed longer ago than this, instead; default
                none.
            queue (str): of this one; default of all.

        Returns:
            int: how many.

        Raises:
            UnknownQueue: there is no such queue.
            psycopg.errors.InvalidParameterValue: the timeout is out of range.
        """
        return self._value(
            int, "recover_stale_jobs", {}, timeout=interval(timeout), queue=text(queue)
        )
