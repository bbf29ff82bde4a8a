"""Calls that look into trouble and end it: functions/operator."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pgbaton._arguments import (
    DEFAULT,
    Default,
    Interval,
    JobFilter,
    JobSearch,
    Json,
    boolean,
    instant,
    integer,
    integers,
    interval,
    job_filter,
    json_value,
    text,
    texts,
)
from pgbaton._async.caller import Caller
from pgbaton._calls import as_it_is
from pgbaton.models import (
    AuditEntry,
    BlockedJob,
    BlockedKey,
    CancelOutcome,
    DeadJob,
    FoundJobs,
    JobActions,
    PausedKeyInfo,
    ScheduleInfo,
)


class OperatorCalls(Caller):
    """Role pgbaton_operator."""

    async def cancel_jobs(
        self, tags: Iterable[str] | None = None, job_ids: Iterable[int] | None = None
    ) -> CancelOutcome:
        """Cancels the jobs that carry all of the tags and those with these ids.

        One that never ran ends as unscheduled, one between attempts as stopped. A running one is
        asked to stop and keeps its key until its worker acknowledges or its lease ends. No tags
        and no ids select nothing.

        Args:
            tags (Iterable[str]): all of them; default none.
            job_ids (Iterable[int]): as well; default none.

        Returns:
            CancelOutcome: ids that are cancelled, and those unknown, failed or ended before.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None among them.
            psycopg.errors.InvalidParameterValue: a tag is empty or above 255 bytes.
        """
        return await self._row(
            CancelOutcome, "cancel_jobs", {}, tags=texts(tags), job_ids=integers(job_ids)
        )

    async def delete_jobs(
        self, tags: Iterable[str] | None = None, job_ids: Iterable[int] | None = None
    ) -> int:
        """Removes for good ended and failed jobs: by all of the tags, and by ids.

        All or nothing. A key that one of them held goes on; unknown ids are passed over. No tags
        and no ids select nothing.

        Args:
            tags (Iterable[str]): all of them; default none.
            job_ids (Iterable[int]): as well; default none.

        Returns:
            int: how many.

        Raises:
            InvalidState: one of them has not ended; nothing was deleted.
            psycopg.errors.NullValueNotAllowed: a None among them.
            psycopg.errors.InvalidParameterValue: a tag is empty or above 255 bytes.
        """
        return await self._value(
            int, "delete_jobs", {}, tags=texts(tags), job_ids=integers(job_ids)
        )

    async def get_blocked_keys(self, queue: str) -> list[str]:
        """Keys of a FIFO queue that a failed job holds.

        retry_job, skip_job or delete_job of that job lets them go on.

        Args:
            queue (str): its name.

        Returns:
            list[str]: the keys, sorted.

        Raises:
            UnknownQueue: there is no such queue.
        """
        return await self._values(str, "get_blocked_keys", {"queue": text(queue)})

    async def blocked_keys(
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
        return await self._rows(
            BlockedKey,
            "blocked_keys",
            {},
            queue=text(queue),
            include_busy=boolean(include_busy),
        )

    async def find_blocked_keys(
        self,
        queue: str | None = None,
        key_part: str | None = None,
        max_rows: int | None = None,
        after: str | None = None,
    ) -> FoundJobs:
        """Ids of the jobs that block a key: those that failed, longest first, then the retried.

        One call looks at a bounded number of jobs: go on with next_after until it is None.

        Args:
            queue (str): of this one; default of all.
            key_part (str): keys that contain this; default all.
            max_rows (int): ids at most, 1 to 1,000; default 50.
            after (str): next_after of the call before, with the same arguments; default none.

        Returns:
            FoundJobs: the ids, and where to go on.

        Raises:
            UnknownQueue: there is no such queue.
            psycopg.errors.InvalidParameterValue: max_rows is out of range.
        """
        return await self._row(
            FoundJobs,
            "find_blocked_keys",
            {},
            queue=text(queue),
            key_part=text(key_part),
            max_rows=integer(max_rows),
            after=text(after),
        )

    async def list_blocked_keys(self, job_ids: Iterable[int]) -> list[BlockedKey]:
        """The keys that these jobs block: for what find_blocked_keys found.

        A waiting_count from 1,000 on may be more.

        Args:
            job_ids (Iterable[int]): which.

        Returns:
            list[BlockedKey]: in the given order; jobs that block none are left out.

        Raises:
            psycopg.errors.NullValueNotAllowed: a None among them.
        """
        return await self._rows(BlockedKey, "list_blocked_keys", {"job_ids": integers(job_ids)})

    async def blocked_jobs(
        self, queue: str | None = None, max_rows: int | None = None
    ) -> list[BlockedJob]:
        """Jobs that wait for one that failed, or that ended without having completed.

        retry_job or skip_job of a failed one lets them go on; stop_waiting and cancel_jobs are for
        the rest.

        Args:
            queue (str): of this one; default of all.
            max_rows (int): at most so many, up to 10,000; default 100.

        Returns:
            list[BlockedJob]: longest blocked first.

        Raises:
            UnknownQueue: there is no such queue.
            psycopg.errors.InvalidParameterValue: max_rows is out of range.
        """
        return await self._rows(
            BlockedJob, "blocked_jobs", {}, queue=text(queue), max_rows=integer(max_rows)
        )

    async def stop_waiting(self, queue: str, job_id: int, reason: str | None = None) -> None:
        """Lets a job run that waits for others, as if all of them had completed.

        Args:
            queue (str): where it is.
            job_id (int): which.
            reason (str): kept in the audit; default none.

        Raises:
            UnknownQueue: there is no such queue.
            UnknownJob: there is no such job in the queue.
            InvalidState: it waits for no other job, or a worker has it, or it ended.
        """
        await self._run(
            "stop_waiting", {"queue": text(queue), "job_id": integer(job_id)}, reason=text(reason)
        )

    async def retry_job(self, queue: str, job_id: int, extra_attempts: int | None = None) -> None:
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
            DuplicateJob: the policy of the queue leaves no place for it.
            psycopg.errors.InvalidParameterValue: extra_attempts is out of range.
        """
        await self._run(
            "retry_job",
            {"queue": text(queue), "job_id": integer(job_id)},
            extra_attempts=integer(extra_attempts),
        )

    async def retry_jobs(self, queue: str, filter: JobFilter | None = None) -> int:
        """Runs failed jobs of a queue again in place, as retry_job does.

        Args:
            queue (str): where they are.
            filter (JobFilter): a dict with what all of them must fit: job_type, tags,
                singleton_key, error (part of the last one), failed_after, failed_before, payload
                (what it contains); and extra_attempts to grant to each. Default {}.

        Returns:
            int: how many.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
            DuplicateJob: the policy of the queue leaves no place for one; none is retried.
            psycopg.errors.InvalidParameterValue: an unknown key, or a value out of range.
        """
        return await self._value(
            int, "retry_jobs", {"queue": text(queue)}, filter=job_filter(filter)
        )

    async def act_on_jobs(
        self,
        action: str,
        filter: JobSearch,
        reason: str | None = None,
        max_rows: int | None = None,
        after: str | None = None,
        dry_run: bool | None = None,
        run_at: datetime | None = None,
        priority: int | None = None,
    ) -> JobActions:
        """Does one thing with the jobs that fit a filter, the oldest first, in bounded steps.

        Go on with next_after until it is None. The audit keeps each call.

        Args:
            action (str): retry (failed jobs, in place), skip or requeue (failed jobs), reschedule
                or prioritize (jobs that nobody has claimed, or that wait for their time or a
                retry), cancel (live jobs that have not failed), delete (jobs that do not run) or
                erase (failed and ended ones, for good). Jobs in other states are passed by.
            filter (JobSearch): a dict with what all of them must fit; not empty.
            reason (str): for the audit; default none.
            max_rows (int): jobs at most, 1 to 1,000, with dry_run to 10,000; default 100.
            after (str): next_after of the call before, with the same filter; default none.
            dry_run (bool): only count them; default false.
            run_at (datetime): for reschedule, with a time zone; default at once.
            priority (int): for prioritize, which needs one.

        Returns:
            JobActions: with how many it was done, and where to go on.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: an unknown key or action, a value out of range, or
                one of another action.
        """
        return await self._row(
            JobActions,
            "act_on_jobs",
            {"action": text(action), "filter": job_filter(filter)},
            reason=text(reason),
            max_rows=integer(max_rows),
            after=text(after),
            dry_run=boolean(dry_run),
            run_at=instant(run_at),
            priority=integer(priority),
        )

    async def skip_job(self, queue: str, job_id: int, reason: str | None = None) -> None:
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
        await self._run(
            "skip_job", {"queue": text(queue), "job_id": integer(job_id)}, reason=text(reason)
        )

    async def reschedule_job(self, queue: str, job_id: int, run_at: datetime | None = None) -> str:
        """Moves a job that is not claimed, waits for its time or for a retry: it runs from then on.

        The order within a key never changes. The job that holds a FIFO key keeps it: its key waits
        with it. Among jobs of its priority, type and tags, one that becomes due stands behind those
        that were claimable before.

        Args:
            queue (str): where it is.
            job_id (int): which.
            run_at (datetime): when, with a time zone; default at once.

        Returns:
            str: ok, or in_line when other jobs of its key stand before it, or jobs for which it
                waits, and run first.

        Raises:
            UnknownQueue: there is no such queue.
            UnknownJob: there is no such job in the queue.
            InvalidState: a worker has it, or it failed or ended.
            psycopg.errors.InvalidParameterValue: run_at is not of the years 1 to 9999.
        """
        return await self._value(
            str,
            "reschedule_job",
            {"queue": text(queue), "job_id": integer(job_id)},
            run_at=instant(run_at),
        )

    async def change_priority(self, queue: str, job_id: int, priority: int) -> str:
        """Gives a job that is not claimed, or waits for its time or a retry, another priority.

        Among jobs of one priority it stands where its enqueue put it. The order within a key never
        changes: the priority counts when its turn in the key has come.

        Args:
            queue (str): where it is.
            job_id (int): which.
            priority (int): larger is claimed first.

        Returns:
            str: ok, or in_line when other jobs of its key stand before it and run first.

        Raises:
            UnknownQueue: there is no such queue.
            UnknownJob: there is no such job in the queue.
            InvalidState: a worker has it, or it failed or ended.
            TooManyLanes: the queue may have no more combinations of priority, job_type and tags.
        """
        return await self._value(
            str,
            "change_priority",
            {"queue": text(queue), "job_id": integer(job_id), "priority": integer(priority)},
        )

    async def delete_job(self, queue: str, job_id: int) -> None:
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
        await self._run("delete_job", {"queue": text(queue), "job_id": integer(job_id)})

    async def why_not_running(self, job_id: int) -> str:
        """Says why a job is not running, and which call helps.

        Args:
            job_id (int): which.

        Returns:
            str: one sentence.

        Raises:
            UnknownJob: there is no such job.
        """
        return await self._value(str, "why_not_running", {"job_id": integer(job_id)})

    async def recover_stale_jobs(
        self, timeout: Interval | None = None, queue: str | None = None
    ) -> int:
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
        return await self._value(
            int, "recover_stale_jobs", {}, timeout=interval(timeout), queue=text(queue)
        )

    async def reset_running_jobs(self, queue: str | None = None) -> int:
        """Takes all running jobs from their workers, for a restart of all workers.

        They run again, or are failed when no attempt is left; those being cancelled end as
        unknown_stopped.

        Args:
            queue (str): of this one; default of all.

        Returns:
            int: how many.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        return await self._value(int, "reset_running_jobs", {}, queue=text(queue))

    async def reset_fifo_key(self, queue: str, singleton_key: str, reason: str) -> None:
        """Gets a blocked key going by hand.

        A failed holder is skipped, a running one is taken from its worker and runs again, one
        that waits for its time runs now. No job is let pass one that is still to run.

        Args:
            queue (str): of policy fifo, singleton or stately.
            singleton_key (str): the key.
            reason (str): for the audit, not empty.

        Raises:
            UnknownQueue: there is no such queue.
            InvalidState: in its policy no job holds a key.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: no reason.
        """
        await self._run(
            "reset_fifo_key",
            {"queue": text(queue), "singleton_key": text(singleton_key), "reason": text(reason)},
        )

    async def cleanup_expired_jobs(self, ttl: Interval) -> int:
        """Removes completed jobs earlier than the retention of their queue does.

        Args:
            ttl (timedelta): those that ended longer ago than this.

        Returns:
            int: how many.

        Raises:
            psycopg.errors.NullValueNotAllowed: ttl is None.
            psycopg.errors.InvalidParameterValue: it is not positive.
        """
        return await self._value(int, "cleanup_expired_jobs", {"ttl": interval(ttl)})

    async def list_dead_jobs(
        self, queue: str | None = None, max_rows: int | None = None, row_offset: int | None = None
    ) -> list[DeadJob]:
        """The dead letters: failed jobs, the latest first.

        Args:
            queue (str): of this one; default of all.
            max_rows (int): so many at most; default 50.
            row_offset (int): after the first so many; default 0.

        Returns:
            list[DeadJob]: what each was to do, and why it failed.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: a number below 0.
        """
        return await self._rows(
            DeadJob,
            "list_dead_jobs",
            {},
            queue=text(queue),
            max_rows=integer(max_rows),
            row_offset=integer(row_offset),
        )

    async def get_dead_job(self, job_id: int) -> DeadJob:
        """A dead letter.

        Args:
            job_id (int): which.

        Returns:
            DeadJob: what it was to do, and why it failed.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it has not failed.
            NotPermitted: grants narrow the role.
        """
        return await self._row(DeadJob, "get_dead_job", {"job_id": integer(job_id)})

    async def requeue_dead_job(self, job_id: int) -> int:
        """Enqueues a failed job anew, at the end of its line; retry_job keeps id and place.

        The failed one goes to history as requeued, and its key goes on.

        Args:
            job_id (int): which.

        Returns:
            int: id of the new job.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it has not failed.
            DuplicateJob: the policy of the queue allows no further job of the key.
            NotPermitted: grants narrow the role.
        """
        return await self._value(int, "requeue_dead_job", {"job_id": integer(job_id)})

    async def delete_dead_job(self, job_id: int) -> None:
        """Gives up a dead letter: it goes to history as deleted, its key goes on.

        Args:
            job_id (int): which.

        Raises:
            UnknownJob: there is no such job.
            InvalidState: it has not failed.
            NotPermitted: grants narrow the role.
        """
        await self._run("delete_dead_job", {"job_id": integer(job_id)})

    async def purge_dead_jobs(self, queue: str | None = None, force: bool | None = None) -> int:
        """Gives up all dead letters that hold no key: they go to history as purged.

        Args:
            queue (str): of this one; default of all.
            force (bool): those that hold a key as well, which then goes on; default false.

        Returns:
            int: how many.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        return await self._value(
            int, "purge_dead_jobs", {}, queue=text(queue), force=boolean(force)
        )

    async def kv_delete(self, key: Iterable[str]) -> bool:
        """Removes what is stored under a key path.

        Args:
            key (Iterable[str]): the parts of the path.

        Returns:
            bool: whether there was something.

        Raises:
            NotPermitted: grants narrow the role.
        """
        return await self._value(bool, "kv_delete", {"key": texts(key)})

    async def create_schedule(
        self,
        name: str,
        queue: str,
        cron: str,
        time_zone: str | None = None,
        payload: Json | Default = DEFAULT,
        priority: int | None = None,
        singleton_key: str | None = None,
        job_type: str | None = None,
        tags: Iterable[str] | None = None,
        missed_runs: str | None = None,
    ) -> datetime:
        """Enqueues a job at the times of a cron expression; run_maintenance does the work.

        It replaces a schedule of that name. When the clocks change, a fixed time that is left
        out runs right after the gap, and one that comes twice runs once.

        Args:
            name (str): of the schedule.
            queue (str): where its jobs go.
            cron (str): minute, hour, day of month, month and weekday, for example
                0 9 * * MON-FRI.
            time_zone (str): the zone of these times; default UTC.
            payload (Json): of each job, None is the JSON null; default {}.
            priority (int): of each job; default 100.
            singleton_key (str): of each job; required in a FIFO queue. Default none.
            job_type (str): of each job; default ''.
            tags (Iterable[str]): of each job; default {}.
            missed_runs (str): what becomes of times that passed without run_maintenance:
                coalesce (one job for all), skip (none) or all (one each); default coalesce.

        Returns:
            datetime: when it runs first.

        Raises:
            UnknownQueue, KeyRequired, TooManyLanes, PayloadTooLarge, NotPermitted: as
                enqueue_job.
            psycopg.errors.InvalidParameterValue: an argument is out of range, the time zone is
                unknown or the expression never comes true.
        """
        answer: datetime = await self._value(
            as_it_is,
            "create_schedule",
            {"name": text(name), "queue": text(queue), "cron": text(cron)},
            time_zone=text(time_zone),
            payload=json_value(self._encoder.payload(payload, queue, job_type)),
            priority=integer(priority),
            singleton_key=text(singleton_key),
            job_type=text(job_type),
            tags=texts(tags),
            missed_runs=text(missed_runs),
        )
        return answer

    async def pause_schedule(self, name: str, paused: bool | None = None) -> datetime | None:
        """Pauses a schedule or lets it go on; what it missed meanwhile is not made up for.

        Args:
            name (str): of the schedule.
            paused (bool): False lets it go on; default true.

        Returns:
            datetime | None: when it runs next; None while it is paused.

        Raises:
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: there is no such schedule.
        """
        answer: datetime | None = await self._value(
            as_it_is, "pause_schedule", {"name": text(name)}, paused=boolean(paused)
        )
        return answer

    async def run_schedule(self, name: str) -> int:
        """Enqueues the job of a schedule now, beside its times and also while it is paused.

        Args:
            name (str): of the schedule.

        Returns:
            int: id of the job; of the one that is queued when the policy allows no further one.

        Raises:
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: there is no such schedule, or its queue takes
                its job no more.
        """
        return await self._value(int, "run_schedule", {"name": text(name)})

    async def drop_schedule(self, name: str) -> bool:
        """Ends a schedule; jobs that it enqueued stay.

        Args:
            name (str): of the schedule.

        Returns:
            bool: whether there was one.

        Raises:
            NotPermitted: grants narrow the role.
        """
        return await self._value(bool, "drop_schedule", {"name": text(name)})

    async def list_schedules(self) -> list[ScheduleInfo]:
        """All schedules: what each enqueues, when next, and what it did last.

        Returns:
            list[ScheduleInfo]: by name.
        """
        return await self._rows(ScheduleInfo, "list_schedules", {})

    async def list_paused_keys(
        self,
        queue: str | None = None,
        max_rows: int | None = None,
        after_key: str | None = None,
    ) -> list[PausedKeyInfo]:
        """Keys that `pause_key` paused.

        Args:
            queue (str): of which queue; default all.
            max_rows (int): at most, 1 to 1,000; default 100.
            after_key (str): those of the queue that stand behind this key, the last one of a page.

        Returns:
            list[PausedKeyInfo]: by queue and key.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        return await self._rows(
            PausedKeyInfo,
            "list_paused_keys",
            {},
            queue=text(queue),
            max_rows=integer(max_rows),
            after_key=text(after_key),
        )

    async def list_audit(
        self,
        queue: str | None = None,
        job_id: int | None = None,
        max_rows: int | None = None,
        before_id: int | None = None,
    ) -> list[AuditEntry]:
        """What was done by whom and why.

        Args:
            queue (str): to which queue; default all on which the role may operate.
            job_id (int): to which job; default all.
            max_rows (int): at most, 1 to 1,000; default 50.
            before_id (int): go on below the id of the last one; default from the latest on.

        Returns:
            list[AuditEntry]: the latest first.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        return await self._rows(
            AuditEntry,
            "list_audit",
            {},
            queue=text(queue),
            job_id=integer(job_id),
            max_rows=integer(max_rows),
            before_id=integer(before_id),
        )
