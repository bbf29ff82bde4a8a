"""Calls that make and manage queues: functions/queue."""

from __future__ import annotations

from collections.abc import Iterable

from pgbaton._arguments import (
    DEFAULT,
    Argument,
    Default,
    Interval,
    boolean,
    integer,
    interval,
    intervals,
    text,
)
from pgbaton._async.caller import Caller
from pgbaton.models import OnExhausted, QueueInfo, QueueLimits, QueuePolicy


class QueueCalls(Caller):
    """Role pgbaton_operator."""

    async def create_queue(
        self,
        queue: str,
        policy: QueuePolicy | str | None = None,
        on_exhausted: OnExhausted | str | None = None,
        max_attempts: int | Default | None = DEFAULT,
        retry_delay: Interval | None = None,
        retry_backoff: bool | None = None,
        retry_delay_max: Interval | None = None,
        backoff_schedule: Iterable[Interval] | None = None,
        lease: Interval | None = None,
        retention: Interval | None = None,
        dead_letter_retention: Interval | None = None,
        max_lanes: int | None = None,
        description: str | None = None,
    ) -> None:
        """Makes a queue; does nothing when it exists with the same settings.

        Args:
            queue (str): its name, 1 to 63 bytes without control characters.
            policy (QueuePolicy): what jobs of one singleton_key may do side by side: anything
                (standard), at most one waits (short), one runs (singleton), one is in each state
                (stately), there is one (exclusive), or they run one at a time in enqueue order
                (fifo); default standard. Except in fifo, jobs without a key count as jobs of one
                key.
            on_exhausted (OnExhausted): what a failed job of a fifo queue does to its key: block
                (it holds it) or continue (the next job runs); default block.
            max_attempts (int): runs of a job at most, None is unlimited; default 20.
            retry_delay (timedelta): wait before a retry; default 1 second.
            retry_backoff (bool): whether the wait grows exponentially, with jitter, from
                retry_delay up to retry_delay_max; default true.
            retry_delay_max (timedelta): longest such wait; default 15 minutes.
            backoff_schedule (list[timedelta]): wait after the 1st, 2nd, ... attempt instead of
                the above; the last one repeats. Default: none.
            lease (timedelta): how long a claim holds a job; default 5 minutes.
            retention (timedelta): how long finished jobs are kept; default 14 days.
            dead_letter_retention (timedelta): how long failed jobs are kept; default for ever.
            max_lanes (int): most combinations of priority, job_type and tags; default 10000.
            description (str): for people; default none.

        Raises:
            QueueExists: it exists with other settings.
            psycopg.errors.InvalidParameterValue: a setting is out of range.
        """
        await self._run(
            "create_queue",
            {"queue": text(queue), **_nullable(max_attempts)},
            policy=text(policy),
            on_exhausted=text(on_exhausted),
            retry_delay=interval(retry_delay),
            retry_backoff=boolean(retry_backoff),
            retry_delay_max=interval(retry_delay_max),
            backoff_schedule=intervals(backoff_schedule),
            lease=interval(lease),
            retention=interval(retention),
            dead_letter_retention=interval(dead_letter_retention),
            max_lanes=integer(max_lanes),
            description=text(description),
        )

    async def create_fifo_queue(
        self,
        queue: str,
        on_exhausted: OnExhausted | str | None = None,
        max_attempts: int | Default | None = DEFAULT,
        retry_delay: Interval | None = None,
        retry_backoff: bool | None = None,
        retry_delay_max: Interval | None = None,
        backoff_schedule: Iterable[Interval] | None = None,
        lease: Interval | None = None,
        retention: Interval | None = None,
        dead_letter_retention: Interval | None = None,
        max_lanes: int | None = None,
        description: str | None = None,
    ) -> None:
        """Makes a queue whose jobs of one singleton_key run one at a time in enqueue order.

        Does nothing when it exists with the same settings.

        Args:
            queue (str): its name, 1 to 63 bytes without control characters.
            on_exhausted (OnExhausted): what a failed job does to its key: block (it holds it
                until retry_job, skip_job or delete_job) or continue (the next job runs);
                default block.
            max_attempts (int): runs of a job at most, None is unlimited; default 20.
            retry_delay (timedelta): wait before a retry; default 1 second.
            retry_backoff (bool): whether the wait grows exponentially, with jitter, from
                retry_delay up to retry_delay_max; default true.
            retry_delay_max (timedelta): longest such wait; default 15 minutes.
            backoff_schedule (list[timedelta]): wait after the 1st, 2nd, ... attempt instead of
                the above; the last one repeats. Default: none.
            lease (timedelta): how long a claim holds a job; default 5 minutes.
            retention (timedelta): how long finished jobs are kept; default 14 days.
            dead_letter_retention (timedelta): how long failed jobs are kept; default for ever.
            max_lanes (int): most combinations of priority, job_type and tags; default 10000.
            description (str): for people; default none.

        Raises:
            QueueExists: it exists with other settings.
            psycopg.errors.InvalidParameterValue: a setting is out of range.
        """
        await self._run(
            "create_fifo_queue",
            {"queue": text(queue), **_nullable(max_attempts)},
            on_exhausted=text(on_exhausted),
            retry_delay=interval(retry_delay),
            retry_backoff=boolean(retry_backoff),
            retry_delay_max=interval(retry_delay_max),
            backoff_schedule=intervals(backoff_schedule),
            lease=interval(lease),
            retention=interval(retention),
            dead_letter_retention=interval(dead_letter_retention),
            max_lanes=integer(max_lanes),
            description=text(description),
        )

    async def update_queue(
        self,
        queue: str,
        policy: QueuePolicy | str | None = None,
        on_exhausted: OnExhausted | str | None = None,
        max_attempts: int | None = None,
        retry_delay: Interval | None = None,
        retry_backoff: bool | None = None,
        retry_delay_max: Interval | None = None,
        backoff_schedule: Iterable[Interval] | None = None,
        lease: Interval | None = None,
        retention: Interval | None = None,
        dead_letter_retention: Interval | None = None,
        max_lanes: int | None = None,
        description: str | None = None,
    ) -> None:
        """Changes the settings that are given; the others, or None, stay as they are.

        So no setting can be made None here. Jobs without a setting of their own follow at once.

        Args:
            queue (str): its name.
            policy (QueuePolicy): only while the queue has no live jobs; set_fifo_mode turns
                order on and off with jobs in it.
            on_exhausted (OnExhausted): what a failed job of a fifo queue does to its key.
            max_attempts (int): runs of a job at most.
            retry_delay (timedelta): wait before a retry.
            retry_backoff (bool): whether the wait grows exponentially.
            retry_delay_max (timedelta): longest such wait.
            backoff_schedule (list[timedelta]): wait after each attempt instead of the above.
            lease (timedelta): how long a claim holds a job.
            retention (timedelta): how long finished jobs are kept.
            dead_letter_retention (timedelta): how long failed jobs are kept.
            max_lanes (int): most combinations of priority, job_type and tags.
            description (str): for people.

        Raises:
            UnknownQueue: there is no such queue.
            QueueNotEmpty: another policy, and there are live jobs.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: a setting is out of range.
        """
        await self._run(
            "update_queue",
            {"queue": text(queue)},
            policy=text(policy),
            on_exhausted=text(on_exhausted),
            max_attempts=integer(max_attempts),
            retry_delay=interval(retry_delay),
            retry_backoff=boolean(retry_backoff),
            retry_delay_max=interval(retry_delay_max),
            backoff_schedule=intervals(backoff_schedule),
            lease=interval(lease),
            retention=interval(retention),
            dead_letter_retention=interval(dead_letter_retention),
            max_lanes=integer(max_lanes),
            description=text(description),
        )

    async def set_fifo_mode(self, queue: str, enabled: bool, force: bool | None = None) -> None:
        """Turns strict order per singleton_key on or off; waits for open producers.

        On: the jobs that are there stand in line in the order of their enqueue, and one of each
        key holds it. Off: all waiting jobs become claimable.

        Args:
            queue (str): its name.
            enabled (bool): on or off.
            force (bool): off even when jobs wait for another one of their key; default false.

        Raises:
            UnknownQueue: there is no such queue.
            InvalidState: its policy is neither standard nor fifo.
            QueueNotEmpty: off, with waiting jobs, without force.
            NotPermitted: grants narrow the role.
        """
        await self._run(
            "set_fifo_mode",
            {"queue": text(queue), "enabled": boolean(enabled)},
            force=boolean(force),
        )

    async def set_queue_limits(
        self,
        queue: str,
        max_running: int | None = None,
        key_limit: int | None = None,
        rate_count: int | None = None,
        rate_interval: Interval | None = None,
        rate_burst: int | None = None,
        key_rate_count: int | None = None,
        key_rate_interval: Interval | None = None,
        key_rate_burst: int | None = None,
    ) -> None:
        """Sets all limits of a queue, over all workers; None is no limit.

        Lower limits end nothing: no job starts until what runs, or started within the interval,
        is below them. Jobs that have to wait stay where they are, at no attempt.

        Args:
            queue (str): its name.
            max_running (int): how many of its jobs may be with workers at once, 1 to 1000.
            key_limit (int): the same for each singleton_key, 1 to 1000, in a queue of policy
                singleton, where it is 1 without a limit.
            rate_count (int): how many jobs may start in any interval of the length of
                rate_interval, wherever it begins; each attempt is a start. 1 to 1000000.
            rate_interval (timedelta): above 0, at most 31 days.
            rate_burst (int): how many of these may start within interval * burst / count; a divisor
                of rate_count, which it is by default.
            key_rate_count (int): how many jobs of each singleton_key may start in any interval of
                the length of key_rate_interval, in a queue of policy fifo or singleton. 1 to 100. A
                job that may not start yet is put off until it may.
            key_rate_interval (timedelta): above 0, at most 31 days.
            key_rate_burst (int): the same as rate_burst, for each key.

        Raises:
            UnknownQueue: there is no such queue.
            InvalidState: key_limit, and its policy is another one than singleton; or a rate of each
                key, and it is neither that nor fifo.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: a limit is out of range, or half of a rate.
        """
        await self._run(
            "set_queue_limits",
            {"queue": text(queue)},
            max_running=integer(max_running),
            key_limit=integer(key_limit),
            rate_count=integer(rate_count),
            rate_interval=interval(rate_interval),
            rate_burst=integer(rate_burst),
            key_rate_count=integer(key_rate_count),
            key_rate_interval=interval(key_rate_interval),
            key_rate_burst=integer(key_rate_burst),
        )

    async def list_queue_limits(self) -> list[QueueLimits]:
        """The queues that have limits, with what runs now and when the next job may start.

        Returns:
            list[QueueLimits]: by name.
        """
        return await self._rows(QueueLimits, "list_queue_limits", {})

    async def list_queues(self) -> list[QueueInfo]:
        """All queues with their settings.

        Returns:
            list[QueueInfo]: by name.
        """
        return await self._rows(QueueInfo, "list_queues", {})

    async def pause_queue(self, queue: str) -> None:
        """Stops a queue from handing out jobs until resume_queue.

        It still takes jobs, and what is claimed may be finished.

        Args:
            queue (str): its name.

        Raises:
            UnknownQueue: there is no such queue.
        """
        await self._run("pause_queue", {"queue": text(queue)})

    async def resume_queue(self, queue: str) -> None:
        """Lets a queue hand out jobs again after pause_queue.

        Args:
            queue (str): its name.

        Raises:
            UnknownQueue: there is no such queue.
        """
        await self._run("resume_queue", {"queue": text(queue)})

    async def pause_key(self, queue: str, singleton_key: str) -> None:
        """Stops a key from handing out jobs until resume_key.

        The queue still takes its jobs, and the one that runs may finish.

        Args:
            queue (str): of policy fifo, singleton or stately.
            singleton_key (str): the key.

        Raises:
            UnknownQueue: there is no such queue.
            InvalidState: in its policy no job holds a key.
            NotPermitted: grants narrow the role.
        """
        await self._run("pause_key", {"queue": text(queue), "singleton_key": text(singleton_key)})

    async def resume_key(self, queue: str, singleton_key: str) -> None:
        """Lets a key hand out jobs again after pause_key.

        Args:
            queue (str): its name.
            singleton_key (str): the key.

        Raises:
            UnknownQueue: there is no such queue.
            InvalidState: in its policy no job holds a key.
            NotPermitted: grants narrow the role.
        """
        await self._run("resume_key", {"queue": text(queue), "singleton_key": text(singleton_key)})

    async def drop_queue(self, queue: str, force: bool | None = None) -> None:
        """Removes a queue with its history, subscriptions, schedules and grants.

        Args:
            queue (str): its name.
            force (bool): also its live jobs; what a worker still sends for one of them is
                not_found. Default false.

        Raises:
            UnknownQueue: there is no such queue.
            QueueNotEmpty: it has live jobs, without force.
            NotPermitted: grants narrow the role.
        """
        await self._run("drop_queue", {"queue": text(queue)}, force=boolean(force))

    async def grant_queue(self, role: str, queue: str, action: str) -> None:
        """Narrows a database role and its members to the queues and actions granted to it.

        A role without any such grant may do on every queue what its membership in the roles of
        pgbaton allows. Superusers are not narrowed.

        Args:
            role (str): the database role.
            queue (str): name of the queue.
            action (str): enqueue, work, operate or monitor.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: the caller is narrowed itself.
            psycopg.errors.UndefinedObject: there is no such role.
            psycopg.errors.InvalidParameterValue: another action.
        """
        await self._run(
            "grant_queue", {"role": text(role), "queue": text(queue), "action": text(action)}
        )

    async def revoke_queue(self, role: str, queue: str, action: str) -> bool:
        """Takes a grant back; a role that loses its last one is no longer narrowed.

        Args:
            role (str): the database role.
            queue (str): name of the queue.
            action (str): enqueue, work, operate or monitor.

        Returns:
            bool: whether there was one.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: the caller is narrowed itself.
            psycopg.errors.InvalidParameterValue: another action.
        """
        return await self._value(
            bool,
            "revoke_queue",
            {"role": text(role), "queue": text(queue), "action": text(action)},
        )


def _nullable(max_attempts: int | Default | None) -> dict[str, Argument]:
    return {} if max_attempts is DEFAULT else {"max_attempts": integer(max_attempts)}
