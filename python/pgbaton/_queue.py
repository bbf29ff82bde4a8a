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
from pgbaton._calls import Caller
from pgbaton.models import OnExhausted, QueueInfo, QueuePolicy


class QueueCalls(Caller):
    """Role pgbaton_operator."""

    def create_queue(
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
            policy (QueuePolicy): standard or fifo; default standard.
            on_exhausted (OnExhausted): what a failed job of a fifo queue does to its key: block
                (it holds it) or continue (the next job runs); default block.
            max_attempts (int): runs of a job at most, None is unlimited; default 3.
            retry_delay (timedelta): wait before a retry; default 1 second.
            retry_backoff (bool): whether the wait grows exponentially, with jitter, from
                retry_delay up to retry_delay_max; default true.
            retry_delay_max (timedelta): longest such wait; default 1 hour.
            backoff_schedule (list[timedelta]): wait after the 1st, 2nd, ... attempt instead of
                the above; the last one repeats. Default: none.
            lease (timedelta): how long a claim holds a job; default 5 minutes.
            retention (timedelta): how long finished jobs are kept; default 14 days.
            dead_letter_retention (timedelta): how long failed jobs are kept; default for ever.
            max_lanes (int): most distinct (priority, job_type, tags); default 10000.
            description (str): for people; default none.

        Raises:
            QueueExists: it exists with other settings.
            psycopg.errors.InvalidParameterValue: a setting is out of range.
        """
        self._run(
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

    def create_fifo_queue(
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
            max_attempts (int): runs of a job at most, None is unlimited; default 3.
            retry_delay (timedelta): wait before a retry; default 1 second.
            retry_backoff (bool): whether the wait grows exponentially, with jitter, from
                retry_delay up to retry_delay_max; default true.
            retry_delay_max (timedelta): longest such wait; default 1 hour.
            backoff_schedule (list[timedelta]): wait after the 1st, 2nd, ... attempt instead of
                the above; the last one repeats. Default: none.
            lease (timedelta): how long a claim holds a job; default 5 minutes.
            retention (timedelta): how long finished jobs are kept; default 14 days.
            dead_letter_retention (timedelta): how long failed jobs are kept; default for ever.
            max_lanes (int): most distinct (priority, job_type, tags); default 10000.
            description (str): for people; default none.

        Raises:
            QueueExists: it exists with other settings.
            psycopg.errors.InvalidParameterValue: a setting is out of range.
        """
        self._run(
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

    def list_queues(self) -> list[QueueInfo]:
        """All queues with their settings.

        Returns:
            list[QueueInfo]: by name.
        """
        return self._rows(QueueInfo, "list_queues", {})

    def pause_queue(self, queue: str) -> None:
        """Stops a queue from handing out jobs until resume_queue.

        It still takes jobs, and what is claimed may be finished.

        Args:
            queue (str): its name.

        Raises:
            UnknownQueue: there is no such queue.
        """
        self._run("pause_queue", {"queue": text(queue)})

    def resume_queue(self, queue: str) -> None:
        """Lets a queue hand out jobs again after pause_queue.

        Args:
            queue (str): its name.

        Raises:
            UnknownQueue: there is no such queue.
        """
        self._run("resume_queue", {"queue": text(queue)})


def _nullable(max_attempts: int | Default | None) -> dict[str, Argument]:
    return {} if max_attempts is DEFAULT else {"max_attempts": integer(max_attempts)}
