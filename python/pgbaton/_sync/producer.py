# Written by make sync from _async: change it there.
"""Calls that add jobs: functions/producer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from pgbaton._arguments import (
    DEFAULT,
    Default,
    Interval,
    Json,
    NewJob,
    boolean,
    header_texts,
    instant,
    integer,
    integers,
    interval,
    intervals,
    job_list,
    json_value,
    json_values,
    key_paths,
    text,
    texts,
)
from pgbaton._calls import as_it_is
from pgbaton._sync.caller import Caller
from pgbaton._tracing import outgoing, outgoing_jobs
from pgbaton.models import EnqueueOutcome, SubscriptionInfo


class ProducerCalls(Caller):
    """Role pgbaton_producer."""

    def enqueue_job(
        self,
        queue: str,
        payload: Json | Default = DEFAULT,
        priority: int | None = None,
        singleton_key: str | None = None,
        job_type: str | None = None,
        tags: Iterable[str] | None = None,
        run_at: datetime | None = None,
        delay: Interval | None = None,
        max_attempts: int | None = None,
        retry_delay: Interval | None = None,
        retry_backoff: bool | None = None,
        backoff_schedule: Iterable[Interval] | None = None,
        keys_if_undelivered: Iterable[Iterable[str]] | None = None,
        dedup_id: str | None = None,
        on_duplicate: str | None = None,
        headers: Mapping[str, str] | None = None,
        after: Iterable[int] | None = None,
        on_failed: str | None = None,
        debounce: Interval | None = None,
        max_wait: Interval | None = None,
    ) -> int:
        """Adds a job. It is there when the transaction commits.

        Args:
            queue (str): where to.
            payload (Json): any JSON value up to 16 MB and 500 levels, None is the JSON null;
                default {}.
            priority (int): larger runs first (150 and 30 are usual for urgent and background work);
                it orders keys, never jobs of one key. Default 100.
            singleton_key (str): required in a FIFO queue, whose jobs of one key run in enqueue
                order; up to 1024 bytes. Default none.
            job_type (str): workers may ask for it; default ''.
            tags (Iterable[str]): workers may ask for them, in any order; default {}.
            run_at (datetime): not before, aware; default at once. In a FIFO queue such a job
                holds up its key.
            delay (timedelta): not before this time from now, instead of run_at; default none.
            max_attempts (int): runs at most; default the queue's.
            retry_delay (timedelta): wait before a retry; default the queue's.
            retry_backoff (bool): whether the wait grows; default the queue's.
            backoff_schedule (Iterable[timedelta]): wait after each attempt; n waits mean n
                retries. Default the queue's.
            keys_if_undelivered (list[list[str]]): key paths under which the payload is stored
                when the job fails for good; default none.
            dedup_id (str): an id of your own, so that the call may be repeated; default none.
            on_duplicate (str): what to do when the queue knows the dedup_id, or its policy
                allows no further job of the key: error, skip (return the earlier job's id) or
                replace (take the place of the earlier job if nobody has claimed it, else stand
                behind it; enqueue_jobs says which); default error.
            headers (Mapping[str, str]): texts that travel with the job, up to 4 kB; the current
                OpenTelemetry span adds its trace context. Default none.
            after (Iterable[int]): ids of up to 100,000 jobs of any queue: this one is not
                claimable until all of them have completed. In a FIFO queue it holds up its key
                meanwhile. Default none.
            on_failed (str): what becomes of it when one of those fails for good or ends
                otherwise: wait (an operator retries or skips that one; see blocked_jobs), cancel
                or run; default wait.
            debounce (timedelta): with replace, instead of run_at: the job runs when no other has
                replaced it for so long; default none.
            max_wait (timedelta): but so long after the first of these jobs at the latest; longer
                than debounce. Default: there is no such limit.

        Returns:
            int: the job's id. Ids identify; they do not say who came first.

        Raises:
            UnknownQueue: there is no such queue.
            UnknownJob: a job of after is not known.
            KeyRequired: a FIFO queue and no singleton_key.
            DuplicateJob: the dedup_id is known, or the policy allows no further job of the key.
            TooManyLanes: too many combinations of priority, job_type and tags.
            PayloadTooLarge: it is above 16 MB, deeper than 500 levels or has a number of more than
                4,000 digits, or headers are above 4 kB.
            psycopg.errors.InvalidParameterValue: an argument is out of range, or both run_at
                and delay are given.
            ValueError: NaN, Infinity, a NUL character or a naive datetime; nothing was sent.
        """
        return self._value(
            int,
            "enqueue_job",
            {"queue": text(queue)},
            payload=json_value(self._encoder.payload(payload, queue, job_type)),
            priority=integer(priority),
            singleton_key=text(singleton_key),
            job_type=text(job_type),
            tags=texts(tags),
            run_at=instant(run_at),
            delay=interval(delay),
            max_attempts=integer(max_attempts),
            retry_delay=interval(retry_delay),
            retry_backoff=boolean(retry_backoff),
            backoff_schedule=intervals(backoff_schedule),
            keys_if_undelivered=key_paths(keys_if_undelivered),
            dedup_id=text(dedup_id),
            on_duplicate=text(on_duplicate),
            headers=header_texts(outgoing(headers)),
            after=integers(after),
            on_failed=text(on_failed),
            debounce=interval(debounce),
            max_wait=interval(max_wait),
        )

    def enqueue_jobs(self, queue: str, jobs: Iterable[NewJob]) -> list[EnqueueOutcome]:
        """Adds many jobs, each with options of its own.

        Jobs of one key keep the order of the input. All or nothing, except for jobs that the
        policy of the queue does not allow: those are rejected one by one.

        Args:
            queue (str): where to.
            jobs (Iterable[NewJob]): dicts with the keyword arguments of enqueue_job; and
                after_ordinals, places of earlier jobs of the list, from 1, for which one waits.

        Returns:
            list[EnqueueOutcome]: one for each job in input order.

        Raises:
            UnknownQueue, UnknownJob, KeyRequired, DuplicateJob, TooManyLanes, PayloadTooLarge: as
                enqueue_job.
            psycopg.errors.InvalidParameterValue: an unknown key, or a value out of range.
            ValueError: NaN, Infinity, a NUL character or a naive datetime; nothing was sent.
        """
        return self._rows(
            EnqueueOutcome,
            "enqueue_jobs",
            {
                "queue": text(queue),
                "jobs": job_list(outgoing_jobs(self._encoder.jobs(queue, jobs))),
            },
        )

    def enqueue_batch(
        self,
        queue: str,
        payloads: Iterable[Json],
        singleton_keys: Iterable[str | None] | None = None,
        priority: int | None = None,
        job_type: str | None = None,
        tags: Iterable[str] | None = None,
        run_at: datetime | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> list[int]:
        """Adds many jobs with the same options, the fast way; all or nothing.

        Args:
            queue (str): where to.
            payloads (Iterable[Json]): one for each job; None is the JSON null.
            singleton_keys (Iterable[str]): one for each job, None for no key; required in a
                FIFO queue. Default none.
            priority (int): of all; default 100.
            job_type (str): of all; default ''.
            tags (Iterable[str]): of all; default {}.
            run_at (datetime): not before, aware; default at once.
            headers (Mapping[str, str]): texts that travel with each job, up to 4 kB; the current
                OpenTelemetry span adds its trace context. Default none.

        Returns:
            list[int]: ids in input order.

        Raises:
            UnknownQueue, KeyRequired, TooManyLanes, PayloadTooLarge: as enqueue_job.
            DuplicateJob: the policy allows no further job of a key.
            psycopg.errors.ArraySubscriptError: payloads and singleton_keys differ in length.
            psycopg.errors.InvalidParameterValue: an argument is out of range.
            ValueError: NaN, Infinity, a NUL character or a naive datetime; nothing was sent.
        """
        return self._values(
            int,
            "enqueue_batch",
            {
                "queue": text(queue),
                "payloads": json_values(self._encoder.payloads(payloads, queue, job_type)),
            },
            singleton_keys=texts(singleton_keys),
            priority=integer(priority),
            job_type=text(job_type),
            tags=texts(tags),
            run_at=instant(run_at),
            headers=header_texts(outgoing(headers)),
        )

    def publish(
        self,
        topic: str,
        payload: Json,
        singleton_key: str | None = None,
        priority: int | None = None,
        job_type: str | None = None,
        tags: Iterable[str] | None = None,
        run_at: datetime | None = None,
        delay: Interval | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> list[int]:
        """Adds a job to each queue that is subscribed to a topic, in one transaction.

        Each subscription gets its jobs in commit order.

        Args:
            topic (str): words with dots between, for example order.paid; up to 255 bytes.
            payload (Json): any JSON value up to 16 MB and 500 levels, None is the JSON null.
            singleton_key (str): the key of all of them; default the queue's name, so that a
                FIFO queue keeps all that it gets in order.
            priority (int): larger runs first; default 100.
            job_type (str): workers may ask for it; default ''.
            tags (Iterable[str]): workers may ask for them, in any order; default {}.
            run_at (datetime): not before, aware; default at once.
            delay (timedelta): not before this time from now, instead of run_at; default none.
            headers (Mapping[str, str]): texts that travel with each job, up to 4 kB; the current
                OpenTelemetry span adds its trace context. Default none.

        Returns:
            list[int]: ids of the jobs; empty when nobody is subscribed.

        Raises:
            TooManyLanes, PayloadTooLarge, NotPermitted: as enqueue_job, of any of the queues; then
                none gets a job.
            psycopg.errors.InvalidParameterValue: an argument is out of range.
            ValueError: NaN, Infinity, a NUL character or a naive datetime; nothing was sent.
        """
        return self._values(
            int,
            "publish",
            {"topic": text(topic), "payload": json_value(self._encoder.published(payload, topic))},
            singleton_key=text(singleton_key),
            priority=integer(priority),
            job_type=text(job_type),
            tags=texts(tags),
            run_at=instant(run_at),
            delay=interval(delay),
            headers=header_texts(outgoing(headers)),
        )

    def subscribe(self, queue: str, topic_pattern: str) -> None:
        """Has a queue get a job for whatever is published to topics that fit a pattern.

        Does nothing when it is subscribed already. A queue gets one job, however many of its
        patterns fit.

        Args:
            queue (str): its name.
            topic_pattern (str): words with dots between, * for one word, # for any number.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
            psycopg.errors.InvalidParameterValue: it is no pattern, or above 255 bytes.
        """
        self._run("subscribe", {"queue": text(queue), "topic_pattern": text(topic_pattern)})

    def unsubscribe(self, queue: str, topic_pattern: str) -> bool:
        """Ends a subscription; jobs that are there stay.

        Args:
            queue (str): its name.
            topic_pattern (str): as it was given to subscribe.

        Returns:
            bool: whether there was one.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        return self._value(
            bool, "unsubscribe", {"queue": text(queue), "topic_pattern": text(topic_pattern)}
        )

    def list_subscriptions(self, queue: str | None = None) -> list[SubscriptionInfo]:
        """Which topics queues are subscribed to.

        Args:
            queue (str): this one only; default all.

        Returns:
            list[SubscriptionInfo]: by queue and pattern.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        return self._rows(SubscriptionInfo, "list_subscriptions", {}, queue=text(queue))

    def job_id_of(self, queue: str, dedup_id: str) -> int | None:
        """The job that was enqueued under an id of your own.

        Args:
            queue (str): its name.
            dedup_id (str): your id.

        Returns:
            int | None: the job's id; None if the queue does not know it, or not any more.

        Raises:
            UnknownQueue: there is no such queue.
            NotPermitted: grants narrow the role.
        """
        answer: int | None = self._value(
            as_it_is, "job_id_of", {"queue": text(queue), "dedup_id": text(dedup_id)}
        )
        return answer

    def two_phase_backoff(
        self,
        fast_retries: int | None = None,
        fast_min: Interval | None = None,
        fast_max: Interval | None = None,
        slow_retries: int | None = None,
        slow_delay: Interval | None = None,
    ) -> list[timedelta]:
        """A backoff_schedule of two phases, as webhooks want it.

        Args:
            fast_retries (int): retries whose wait doubles; default 30.
            fast_min (timedelta): the first wait; default 5 seconds.
            fast_max (timedelta): the longest of them; default 5 minutes.
            slow_retries (int): retries after those; default 30.
            slow_delay (timedelta): wait before each of them; default 1 hour.

        Returns:
            list[timedelta]: one wait for each retry.

        Raises:
            psycopg.errors.InvalidParameterValue: an argument is out of range.
        """
        return self._value(
            list,
            "two_phase_backoff",
            {},
            fast_retries=integer(fast_retries),
            fast_min=interval(fast_min),
            fast_max=interval(fast_max),
            slow_retries=integer(slow_retries),
            slow_delay=interval(slow_delay),
        )
