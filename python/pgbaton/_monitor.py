"""Calls that only look: functions/monitor."""

from __future__ import annotations

from collections.abc import Iterable

from pgbaton._arguments import integer, text, texts
from pgbaton._calls import Caller
from pgbaton.models import JobInfo, JobStats, QueueStat


class MonitorCalls(Caller):
    """Role pgbaton_monitor."""

    def get_job(self, job_id: int) -> JobInfo:
        """All that is known of a job, live or ended.

        Args:
            job_id (int): which.

        Returns:
            JobInfo: what was enqueued, its state, last claim, result, last error, progress.

        Raises:
            UnknownJob: there is no such job.
        """
        return self._row(JobInfo, "get_job", {"job_id": integer(job_id)})

    def get_job_stats(self, tags: Iterable[str] | None = None) -> JobStats:
        """Counts jobs, live and ended.

        Args:
            tags (Iterable[str]): those that carry all of them; default {}, all jobs.

        Returns:
            JobStats: the counts.

        Raises:
            psycopg.errors.InvalidParameterValue: a tag is empty or above 255 bytes.
        """
        return self._row(JobStats, "get_job_stats", {}, tags=texts(tags))

    def queue_stats(self, queue: str | None = None) -> list[QueueStat]:
        """Jobs of each queue by what they are doing, and the age of the one that is next.

        Args:
            queue (str): this one only; default all.

        Returns:
            list[QueueStat]: by name.

        Raises:
            UnknownQueue: there is no such queue.
        """
        return self._rows(QueueStat, "queue_stats", {}, queue=text(queue))

    def version(self) -> str:
        """Version of pgbaton in the database.

        Returns:
            str: for example 0.1.0.
        """
        return self._value(str, "version", {})
