"""Calls that only look: functions/monitor."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Iterable
from datetime import timedelta
from time import monotonic

from pgbaton._arguments import (
    Interval,
    JobSearch,
    Json,
    boolean,
    check_duration,
    integer,
    integers,
    interval,
    job_filter,
    several_ids,
    text,
    texts,
)
from pgbaton._async.caller import Caller
from pgbaton._calls import as_it_is
from pgbaton.models import (
    FifoStat,
    FoundJobs,
    HealthCheck,
    JobAttempt,
    JobDependency,
    JobInfo,
    JobOutcome,
    JobStats,
    JobTotal,
    KvEntry,
    ListedJob,
    LiveStat,
    QueueStat,
    WorkerInfo,
)


class MonitorCalls(Caller):
    """Role pgbaton_monitor."""

    async def job_outcomes(self, job_ids: Iterable[int]) -> list[JobOutcome]:
        """Which of these jobs have ended, and how.

        Args:
            job_ids (Iterable[int]): which.

        Returns:
            list[JobOutcome]: in the given order, each once; those that wait or run are left out.
                One with a state of None is not there: it was never committed, or is gone with its
                retention.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None among them.
        """
        return await self._rows(JobOutcome, "job_outcomes", {"job_ids": integers(job_ids)})

    async def job_dependencies(
        self, job_id: int, max_rows: int | None = None
    ) -> list[JobDependency]:
        """What a job waits for, or waited for, and who waits for it, or did.

        Args:
            job_id (int): which.
            max_rows (int): of each of the two at most so many, up to 10,000; default 100.

        Returns:
            list[JobDependency]: what it waits for first.

        Raises:
            UnknownJob: there is no such job.
            psycopg.errors.InvalidParameterValue: max_rows is out of range.
        """
        return await self._rows(
            JobDependency,
            "job_dependencies",
            {"job_id": integer(job_id)},
            max_rows=integer(max_rows),
        )

    async def wait_for_outcomes(
        self, job_ids: Iterable[int], max_wait: timedelta | None = None
    ) -> list[JobOutcome]:
        """Waits until these jobs have ended, and returns how.

        It looks after 10 ms, then less and less often, twice a second in the end. The connection is
        free in between: many may wait over one client, and it works through PgBouncer. Enqueue and
        commit first.

        Args:
            job_ids (Iterable[int]): which.
            max_wait (timedelta): how long at most, up to a day; default 30 seconds.

        Returns:
            list[JobOutcome]: as job_outcomes has it: fewer than asked for when the time was over
                before all had ended. Wait again as you like.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None among them.
            ValueError: max_wait is negative, or more than a day.
        """
        given = list(several_ids(job_ids))
        integers(given)  # raises what is wrong with them
        check_duration(max_wait)
        wanted = list(dict.fromkeys(given))
        wait = timedelta(seconds=30) if max_wait is None else max_wait
        if not timedelta() <= wait <= timedelta(days=1):
            raise ValueError(f"max_wait is {wait}: wait for a day at most, and again")
        until = monotonic() + wait.total_seconds()
        pause = 0.01
        while True:
            ended = await self._rows(
                JobOutcome,
                "wait_for_outcomes",
                {"job_ids": integers(wanted)},
                max_wait=interval(timedelta()),
            )
            left = until - monotonic()
            if len(ended) == len(wanted) or left <= 0:
                return ended
            await sleep(min(pause, left))
            pause = min(pause * 1.5, 0.5)

    async def get_job(self, job_id: int) -> JobInfo:
        """All that is known of a job, live or ended.

        Args:
            job_id (int): which.

        Returns:
            JobInfo: what was enqueued, its state, last claim, result, last error, progress.

        Raises:
            UnknownJob: there is no such job.
        """
        return await self._row(JobInfo, "get_job", {"job_id": integer(job_id)})

    async def job_attempts(self, job_id: int, max_rows: int | None = None) -> list[JobAttempt]:
        """The attempts of a job: when, by whom, with which error and stack.

        Args:
            job_id (int): which.
            max_rows (int): at most, 1 to 1,000; default 100.

        Returns:
            list[JobAttempt]: the latest first.

        Raises:
            UnknownJob: there is no such job.
            psycopg.errors.InvalidParameterValue: max_rows is out of range.
        """
        return await self._rows(
            JobAttempt, "job_attempts", {"job_id": integer(job_id)}, max_rows=integer(max_rows)
        )

    async def find_jobs(
        self,
        filter: JobSearch | None = None,
        max_rows: int | None = None,
        after: str | None = None,
        oldest_first: bool | None = None,
    ) -> FoundJobs:
        """Ids of the jobs, live or ended, that fit a filter.

        One call looks at a bounded number of jobs: go on with next_after until it is None.

        Args:
            filter (JobSearch): a dict with what all of them must fit; default {}, all jobs.
            max_rows (int): ids at most, 1 to 10,000; default 50.
            after (str): next_after of the call before, with the same filter; default none.
            oldest_first (bool): default false, the latest first. Dead letters alone come in the
                order in which they failed, others in that of their ids.

        Returns:
            FoundJobs: the ids, and where to go on.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: an unknown key, or a value out of range.
        """
        return await self._row(
            FoundJobs,
            "find_jobs",
            {},
            filter=job_filter(filter),
            max_rows=integer(max_rows),
            after=text(after),
            oldest_first=boolean(oldest_first),
        )

    async def list_jobs(self, job_ids: Iterable[int]) -> list[ListedJob]:
        """Jobs as a list shows them, without their payloads: for what find_jobs found.

        Args:
            job_ids (Iterable[int]): which.

        Returns:
            list[ListedJob]: in the given order; those that are not there are left out.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None among them.
        """
        return await self._rows(ListedJob, "list_jobs", {"job_ids": integers(job_ids)})

    async def get_job_stats(self, tags: Iterable[str] | None = None) -> JobStats:
        """Counts jobs, live and ended.

        Args:
            tags (Iterable[str]): those that carry all of them; default {}, all jobs.

        Returns:
            JobStats: the counts.

        Raises:
            psycopg.errors.InvalidParameterValue: a tag is empty or above 255 bytes.
        """
        return await self._row(JobStats, "get_job_stats", {}, tags=texts(tags))

    async def queue_stats(self, queue: str | None = None) -> list[QueueStat]:
        """Jobs of each queue by what they are doing, and the age of the one that is next.

        Args:
            queue (str): this one only; default all.

        Returns:
            list[QueueStat]: by name.

        Raises:
            UnknownQueue: there is no such queue.
        """
        return await self._rows(QueueStat, "queue_stats", {}, queue=text(queue))

    async def live_stats(self, queue: str | None = None, most: int | None = None) -> list[LiveStat]:
        """Live jobs of each queue by what they are doing, and the age of the one that is next.

        Its cost does not grow with what has ended, as that of queue_stats does.

        Args:
            queue (str): this one only; default all.
            most (int): count no further than this in each queue, 1 to 1,000,000, for a bounded
                cost: a number that is `most` may be more; default none, count all.

        Returns:
            list[LiveStat]: by name.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        return await self._rows(LiveStat, "live_stats", {}, queue=text(queue), most=integer(most))

    async def job_totals(
        self, queue: str | None = None, max_age: Interval | None = None
    ) -> list[JobTotal]:
        """What each queue has done so far, for counters of a monitoring system: none goes down.

        Counted from what retention keeps: what was removed before it was ever counted is
        missing.

        Args:
            queue (str): this one only; default all.
            max_age (timedelta): how old the answer may be; default 1 minute. Counting takes at
                most a twentieth of the time, so on a large history it may be older.

        Returns:
            list[JobTotal]: by name.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: max_age is out of range.
        """
        return await self._rows(
            JobTotal, "job_totals", {}, queue=text(queue), max_age=interval(max_age)
        )

    async def wake_ups(self) -> int | None:
        """How many notifications were sent to sleeping workers so far; it never goes down.

        Returns:
            int | None: of all queues together; None to a role that is narrowed.
        """
        woken: int | None = await self._value(as_it_is, "wake_ups", {})
        return woken

    async def list_workers(self) -> list[WorkerInfo]:
        """Workers that sent a heartbeat within the last day, sleep or hold jobs now.

        Returns:
            list[WorkerInfo]: by name; to a role that is narrowed, those that hold jobs of its
            queues.
        """
        return await self._rows(WorkerInfo, "list_workers", {})

    async def fifo_stats(self, queue: str | None = None) -> list[FifoStat]:
        """Keys of FIFO queues: how many jobs each has, which holds it, and for how long.

        Args:
            queue (str): this one only; default all.

        Returns:
            list[FifoStat]: by queue, the longest line first.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        return await self._rows(FifoStat, "fifo_stats", {}, queue=text(queue))

    async def health(self) -> list[HealthCheck]:
        """Checks of the server and of the queues.

        Returns:
            list[HealthCheck]: each with a sentence that says what was seen and what to do.
        """
        return await self._rows(HealthCheck, "health", {})

    async def kv_get(self, key: Iterable[str]) -> Json:
        """The payload that was stored under a key path when its job failed for good.

        Args:
            key (Iterable[str]): the parts of the path.

        Returns:
            Json: the payload; None if there is none.

        Raises:
            NotPermitted: grants narrow the role.
        """
        return await self._value(as_it_is, "kv_get", {"key": texts(key)})

    async def kv_list(self, prefix: Iterable[str]) -> list[KvEntry]:
        """What is stored under key paths that begin with the same parts.

        Args:
            prefix (Iterable[str]): the first parts; an empty list lists all.

        Returns:
            list[KvEntry]: by path.

        Raises:
            NotPermitted: grants narrow the role.
            psycopg.errors.NullValueNotAllowed: the prefix is None.
        """
        return await self._rows(KvEntry, "kv_list", {"prefix": texts(prefix)})

    async def granted_queues(self, action: str | None = None) -> list[str]:
        """The queues on which the caller may do something.

        All of them, unless grant_queue narrowed one of its roles.

        Args:
            action (str): enqueue, work, operate or monitor; default monitor.

        Returns:
            list[str]: by name.

        Raises:
            psycopg.errors.InvalidParameterValue: another action.
        """
        return await self._values(str, "granted_queues", {}, action=text(action))

    async def version(self) -> str:
        """Version of pgbaton in the database.

        Returns:
            str: for example 0.1.0.
        """
        return await self._value(str, "version", {})
