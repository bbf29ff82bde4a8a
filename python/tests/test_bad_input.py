"""Bad input from Python: a typed error with a hint, and nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg

from pgbaton import (
    Client,
    DuplicateJob,
    InvalidState,
    KeyRequired,
    LeaseLost,
    PayloadTooLarge,
    PgbatonError,
    QueueExists,
    QueueNotEmpty,
    TooManyLanes,
    UnknownJob,
    UnknownQueue,
)

Call = Callable[[Client], Any]
NOBODY = 10**15


@pytest.fixture(scope="module")
def shared(server_dsn: str, template: str) -> Iterator[Client]:
    """One database for all: nothing is to change in it."""
    name = f"{template}_bad_input"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}".encode())
        with Client(psycopg.conninfo.make_conninfo(server_dsn, dbname=name)) as client:
            client.create_queue("mail", max_lanes=1)
            client.create_fifo_queue("orders")
            client.enqueue_job("mail", dedup_id="known")
            client.enqueue_batch("orders", [1, 2, 3], ["a", "b", "a"])
            client.create_queue("one each", "exclusive")
            client.enqueue_job("one each", singleton_key="k")
            yield client
        admin.execute(f"drop database {name}".encode())


@pytest.fixture
def client(shared: Client) -> Iterator[Client]:
    before = snapshot(shared)
    yield shared
    assert snapshot(shared) == before


def snapshot(client: Client) -> tuple[Any, ...]:
    stats = [(s.queue, s.pending, s.total, s.completed) for s in client.queue_stats()]
    asleep = client.list_subscriptions(), client.list_schedules()
    return client.list_queues(), stats, client.get_job_stats(), asleep


SENT: dict[str, tuple[type[psycopg.Error], Call]] = {
    "unknown queue": (UnknownQueue, lambda c: c.enqueue_job("nope")),
    "unknown queue of a batch": (UnknownQueue, lambda c: c.enqueue_batch("nope", [])),
    "unknown queue of a list": (UnknownQueue, lambda c: c.enqueue_jobs("nope", [])),
    "unknown queue to claim from": (UnknownQueue, lambda c: c.claim_job_batch("w", ["nope"])),
    "unknown queue to pause": (UnknownQueue, lambda c: c.pause_queue("nope")),
    "unknown queue to look at": (UnknownQueue, lambda c: c.queue_stats("nope")),
    "no queue": (pg.NullValueNotAllowed, lambda c: c.enqueue_job(None)),  # type: ignore[arg-type]
    "empty queue name": (pg.InvalidParameterValue, lambda c: c.create_queue("")),
    "long queue name": (pg.InvalidParameterValue, lambda c: c.create_queue("x" * 64)),
    "queue name of 64 bytes": (pg.InvalidParameterValue, lambda c: c.create_queue("漢" * 22)),
    "queue name of two lines": (pg.InvalidParameterValue, lambda c: c.create_queue("a\nb")),
    "other settings": (QueueExists, lambda c: c.create_queue("mail", max_attempts=9)),
    "lease of a queue": (pg.InvalidParameterValue, lambda c: c.create_queue("a", lease="0")),
    "unknown policy": (pg.InvalidTextRepresentation, lambda c: c.create_queue("a", "heap")),
    "no key": (KeyRequired, lambda c: c.enqueue_job("orders")),
    "empty key": (KeyRequired, lambda c: c.enqueue_job("orders", singleton_key="")),
    "no keys": (KeyRequired, lambda c: c.enqueue_batch("orders", [1])),
    "one key missing": (KeyRequired, lambda c: c.enqueue_batch("orders", [1, 2], ["a", None])),
    "no key in a list": (KeyRequired, lambda c: c.enqueue_jobs("orders", [{"payload": 1}])),
    "batch of none": (pg.InvalidParameterValue, lambda c: c.claim_job_batch("w", batch_size=0)),
    "batch below none": (pg.InvalidParameterValue, lambda c: c.claim_job_batch("w", batch_size=-1)),
    "batch beyond integers": (
        pg.NumericValueOutOfRange,
        lambda c: c.claim_job_batch("w", batch_size=2**40),
    ),
    "lease of nothing": (
        pg.InvalidParameterValue,
        lambda c: c.claim_job_batch("w", lease=timedelta(0)),
    ),
    "negative lease": (
        pg.InvalidParameterValue,
        lambda c: c.claim_job_batch("w", lease=timedelta(microseconds=-1)),
    ),
    "longest timedelta": (
        pg.DataError,
        lambda c: c.claim_job_batch("w", lease=timedelta.max),
    ),
    "no interval": (pg.InvalidDatetimeFormat, lambda c: c.enqueue_job("mail", delay="soon")),
    "negative delay": (
        pg.InvalidParameterValue,
        lambda c: c.enqueue_job("mail", delay=timedelta(seconds=-1)),
    ),
    "run_at and delay": (
        pg.InvalidParameterValue,
        lambda c: c.enqueue_job("mail", run_at=datetime.now(UTC), delay=timedelta(0)),
    ),
    "last datetime": (
        pg.InvalidParameterValue,
        lambda c: c.enqueue_job("mail", run_at=datetime.max.replace(tzinfo=UTC)),
    ),
    "large payload": (PayloadTooLarge, lambda c: c.enqueue_job("mail", "x" * 17_000_000)),
    "large payload in a batch": (
        PayloadTooLarge,
        lambda c: c.enqueue_batch("mail", [1, "x" * 17_000_000]),
    ),
    "lengths of keys": (
        pg.ArraySubscriptError,
        lambda c: c.enqueue_batch("orders", [1, 2], ["a"]),
    ),
    "lengths of results": (pg.ArraySubscriptError, lambda c: c.complete_jobs([1], results=[])),
    "lengths of messages": (pg.ArraySubscriptError, lambda c: c.fail_jobs([1, 2], ["no"])),
    "no queues": (pg.InvalidParameterValue, lambda c: c.claim_job_batch("w", [])),
    "no job types": (pg.InvalidParameterValue, lambda c: c.claim_job_batch("w", job_types=[])),
    "None among job types": (
        pg.InvalidParameterValue,
        lambda c: c.claim_job_batch("w", job_types=[None]),  # type: ignore[list-item]
    ),
    "None among tags": (
        pg.NullValueNotAllowed,
        lambda c: c.enqueue_job("mail", tags=["a", None]),  # type: ignore[list-item]
    ),
    "None among ids": (
        pg.NullValueNotAllowed,
        lambda c: c.complete_jobs([1, None]),  # type: ignore[list-item]
    ),
    "None for ids": (
        pg.NullValueNotAllowed,
        lambda c: c.start_jobs(None, 1),  # type: ignore[arg-type]
    ),
    "None for payloads": (
        pg.NullValueNotAllowed,
        lambda c: c.enqueue_batch("mail", None),  # type: ignore[arg-type]
    ),
    "None for a token": (
        pg.NullValueNotAllowed,
        lambda c: c.complete_claim(None),  # type: ignore[arg-type]
    ),
    "empty message": (pg.InvalidParameterValue, lambda c: c.fail_job(NOBODY, "")),
    "unknown key of a job": (
        pg.InvalidParameterValue,
        lambda c: c.enqueue_jobs("mail", [{"prio": 1}]),  # type: ignore[typeddict-unknown-key]
    ),
    "known dedup_id": (DuplicateJob, lambda c: c.enqueue_job("mail", dedup_id="known")),
    "one lane too many": (TooManyLanes, lambda c: c.enqueue_job("mail", priority=1)),
    "unknown job": (UnknownJob, lambda c: c.get_job(NOBODY)),
    "unknown job to complete": (UnknownJob, lambda c: c.complete_job(NOBODY)),
    "job of another queue": (UnknownJob, lambda c: c.retry_job("orders", 1)),
    "job that has not failed": (InvalidState, lambda c: c.skip_job("mail", 1)),
    "second job of an exclusive key": (
        DuplicateJob,
        lambda c: c.enqueue_job("one each", singleton_key="k"),
    ),
    "second job of an exclusive key in a batch": (
        DuplicateJob,
        lambda c: c.enqueue_batch("one each", [1, 2], ["new", "k"]),
    ),
    "setting out of range": (
        pg.InvalidParameterValue,
        lambda c: c.update_queue("mail", max_attempts=0),
    ),
    "no schedule of waits": (
        pg.InvalidParameterValue,
        lambda c: c.update_queue("mail", backoff_schedule=[]),
    ),
    "unknown queue to change": (UnknownQueue, lambda c: c.update_queue("nope", max_lanes=2)),
    "policy of a queue with jobs": (
        QueueNotEmpty,
        lambda c: c.update_queue("mail", policy="singleton"),
    ),
    "order of waiting jobs": (QueueNotEmpty, lambda c: c.set_fifo_mode("orders", False)),
    "order of an exclusive queue": (InvalidState, lambda c: c.set_fifo_mode("one each", True)),
    "None for a mode": (
        pg.NullValueNotAllowed,
        lambda c: c.set_fifo_mode("orders", None),  # type: ignore[arg-type]
    ),
    "queue with jobs to drop": (QueueNotEmpty, lambda c: c.drop_queue("mail")),
    "unknown queue to drop": (UnknownQueue, lambda c: c.drop_queue("nope", force=True)),
    "key of a standard queue": (InvalidState, lambda c: c.pause_key("mail", "k")),
    "None for a key": (
        pg.NullValueNotAllowed,
        lambda c: c.resume_key("orders", None),  # type: ignore[arg-type]
    ),
    "unknown role": (pg.UndefinedObject, lambda c: c.grant_queue("nobody at all", "mail", "work")),
    "unknown action": (
        pg.InvalidParameterValue,
        lambda c: c.grant_queue("pgbaton_worker", "mail", "dance"),
    ),
    "unknown action to take back": (
        pg.InvalidParameterValue,
        lambda c: c.revoke_queue("pgbaton_worker", "mail", "dance"),
    ),
    "unknown action to list": (pg.InvalidParameterValue, lambda c: c.granted_queues("dance")),
    "topic with a star": (pg.InvalidParameterValue, lambda c: c.publish("order.*", 1)),
    "pattern with an empty word": (
        pg.InvalidParameterValue,
        lambda c: c.subscribe("mail", "order..paid"),
    ),
    "unknown queue to subscribe": (UnknownQueue, lambda c: c.subscribe("nope", "#")),
    "unknown queue to unsubscribe": (UnknownQueue, lambda c: c.unsubscribe("nope", "#")),
    "unknown queue of subscriptions": (UnknownQueue, lambda c: c.list_subscriptions("nope")),
    "unknown queue of a dedup_id": (UnknownQueue, lambda c: c.job_id_of("nope", "known")),
    "no retries": (
        pg.InvalidParameterValue,
        lambda c: c.two_phase_backoff(fast_retries=0, slow_retries=0),
    ),
    "unknown job to stop": (UnknownJob, lambda c: c.stop_job(NOBODY)),
    "job to stop that does not run": (InvalidState, lambda c: c.stop_job(1)),
    "job to stop without its token": (LeaseLost, lambda c: c.stop_job(2)),
    "empty message of a stop": (
        pg.InvalidParameterValue,
        lambda c: c.stop_job_with_retry(1, ""),
    ),
    "job that was not cancelled": (InvalidState, lambda c: c.acknowledge_cancellation(1, True)),
    "cancelled job, not said whether it ran": (
        pg.NullValueNotAllowed,
        lambda c: c.acknowledge_cancellation(1, None),  # type: ignore[arg-type]
    ),
    "job that is not known to be lost": (InvalidState, lambda c: c.mark_job_unknown_stopped(1)),
    "None among ids to cancel": (
        pg.NullValueNotAllowed,
        lambda c: c.cancel_jobs(job_ids=[1, None]),  # type: ignore[list-item]
    ),
    "None among tags to cancel": (
        pg.NullValueNotAllowed,
        lambda c: c.cancel_jobs([None]),  # type: ignore[list-item]
    ),
    "job to delete that has not ended": (
        InvalidState,
        lambda c: c.delete_jobs(job_ids=[NOBODY, 1]),
    ),
    "negative wait": (
        pg.InvalidParameterValue,
        lambda c: c.wait_for_jobs("w", max_wait=timedelta(seconds=-1)),
    ),
    "no queues to wait for": (pg.InvalidParameterValue, lambda c: c.wait_for_jobs("w", [])),
    "unknown key of a filter": (
        pg.InvalidParameterValue,
        lambda c: c.retry_jobs("mail", {"older": 1}),  # type: ignore[typeddict-unknown-key]
    ),
    "unknown dead letter": (UnknownJob, lambda c: c.get_dead_job(NOBODY)),
    "no dead letter": (InvalidState, lambda c: c.get_dead_job(1)),
    "no dead letter to requeue": (InvalidState, lambda c: c.requeue_dead_job(1)),
    "no dead letter to delete": (InvalidState, lambda c: c.delete_dead_job(1)),
    "rows below none": (pg.InvalidParameterValue, lambda c: c.list_dead_jobs(max_rows=-1)),
    "unknown queue of dead letters": (UnknownQueue, lambda c: c.purge_dead_jobs("nope")),
    "unknown queue to reset": (UnknownQueue, lambda c: c.reset_running_jobs("nope")),
    "no reason": (pg.InvalidParameterValue, lambda c: c.reset_fifo_key("orders", "a", "")),
    "no ttl": (
        pg.NullValueNotAllowed,
        lambda c: c.cleanup_expired_jobs(None),  # type: ignore[arg-type]
    ),
    "ttl of nothing": (
        pg.InvalidParameterValue,
        lambda c: c.cleanup_expired_jobs(timedelta(0)),
    ),
    "None for a prefix": (
        pg.NullValueNotAllowed,
        lambda c: c.kv_list(None),  # type: ignore[arg-type]
    ),
    "unknown queue of keys": (UnknownQueue, lambda c: c.fifo_stats("nope")),
    "four fields of cron": (
        pg.InvalidParameterValue,
        lambda c: c.create_schedule("a", "mail", "* * * *"),
    ),
    "cron that never comes true": (
        pg.InvalidParameterValue,
        lambda c: c.create_schedule("a", "mail", "0 0 31 2 *"),
    ),
    "unknown time zone": (
        pg.InvalidParameterValue,
        lambda c: c.create_schedule("a", "mail", "* * * * *", "Europe/Atlantis"),
    ),
    "schedule without a key": (
        KeyRequired,
        lambda c: c.create_schedule("a", "orders", "* * * * *"),
    ),
    "schedule with one lane too many": (
        TooManyLanes,
        lambda c: c.create_schedule("a", "mail", "* * * * *", priority=1),
    ),
    "what to do with missed runs": (
        pg.InvalidParameterValue,
        lambda c: c.create_schedule("a", "mail", "* * * * *", missed_runs="forget"),
    ),
    "unknown schedule": (pg.InvalidParameterValue, lambda c: c.pause_schedule("nope")),
    "attempts below none": (
        pg.InvalidParameterValue,
        lambda c: c.retry_job("mail", 1, extra_attempts=-1),
    ),
}


@pytest.mark.parametrize(("error", "call"), SENT.values(), ids=SENT)
def test_the_server_refuses_it(client: Client, error: type[psycopg.Error], call: Call) -> None:
    with pytest.raises(error) as caught:
        call(client)
    if isinstance(caught.value, PgbatonError):
        assert caught.value.hint


NOT_SENT: dict[str, tuple[type[Exception], str, Call]] = {
    "NUL in a queue": (ValueError, "NUL", lambda c: c.enqueue_job("a\0b")),
    "NUL in a key": (ValueError, "NUL", lambda c: c.enqueue_job("orders", singleton_key="\0")),
    "NUL in a tag": (ValueError, "NUL", lambda c: c.enqueue_job("mail", tags=["a", "b\0"])),
    "NUL among keys": (ValueError, "NUL", lambda c: c.enqueue_batch("orders", [1], ["\0"])),
    "NUL in a message": (ValueError, "NUL", lambda c: c.fail_job(1, "no\0")),
    "NUL in an interval": (ValueError, "NUL", lambda c: c.enqueue_job("mail", delay="\0")),
    "NUL in a payload": (ValueError, "NUL", lambda c: c.enqueue_job("mail", {"a": ["\0"]})),
    "NUL in a name of a payload": (ValueError, "NUL", lambda c: c.enqueue_job("mail", {"\0": 1})),
    "NUL after a backslash": (ValueError, "NUL", lambda c: c.enqueue_job("mail", "\\\0")),
    "NUL among payloads": (ValueError, "NUL", lambda c: c.enqueue_batch("mail", [1, "\0"])),
    "NUL in a list": (ValueError, "NUL", lambda c: c.enqueue_jobs("mail", [{"dedup_id": "\0"}])),
    "NUL in a result": (ValueError, "NUL", lambda c: c.complete_job(1, "\0")),
    "NUL in a topic": (ValueError, "NUL", lambda c: c.publish("a\0b", 1)),
    "NUL in a filter": (ValueError, "NUL", lambda c: c.retry_jobs("mail", {"error": "\0"})),
    "NUL in a path": (ValueError, "NUL", lambda c: c.kv_get(["a", "\0"])),
    "NaN published": (ValueError, "not a JSON value", lambda c: c.publish("a", float("nan"))),
    "naive datetime in a filter": (
        ValueError,
        "no time zone",
        lambda c: c.retry_jobs("mail", {"failed_after": datetime(2026, 1, 1)}),
    ),
    "text for a path": (TypeError, "pass a list", lambda c: c.kv_get("a")),
    "text for tags to cancel": (TypeError, "pass a list", lambda c: c.cancel_jobs("urgent")),
    "text for tags of a filter": (
        TypeError,
        "pass a list",
        lambda c: c.retry_jobs("mail", {"tags": "urgent"}),
    ),
    "NaN": (ValueError, "not a JSON value", lambda c: c.enqueue_job("mail", [float("nan")])),
    "Infinity": (ValueError, "not a JSON value", lambda c: c.enqueue_job("mail", float("inf"))),
    "NaN among payloads": (
        ValueError,
        "not a JSON value",
        lambda c: c.enqueue_batch("mail", [float("nan")]),
    ),
    "NaN among results": (
        ValueError,
        "not a JSON value",
        lambda c: c.complete_jobs([1], results=[float("nan")]),
    ),
    "half a surrogate pair": (ValueError, "surrogate", lambda c: c.enqueue_job("mail", "\ud800")),
    "half a pair in a key": (
        ValueError,
        "surrogate",
        lambda c: c.enqueue_job("orders", singleton_key="\udfff"),
    ),
    "naive datetime": (
        ValueError,
        "no time zone",
        lambda c: c.enqueue_job("mail", run_at=datetime(2126, 1, 1)),
    ),
    "naive datetime in a list": (
        ValueError,
        "no time zone",
        lambda c: c.enqueue_jobs("mail", [{"run_at": datetime(2126, 1, 1)}]),
    ),
    "no JSON": (TypeError, "JSON serializable", lambda c: c.enqueue_job("mail", {1, 2})),
    "text for tags": (TypeError, "pass a list", lambda c: c.enqueue_job("mail", tags="urgent")),
    "text for queues": (TypeError, "pass a list", lambda c: c.claim_job_batch("w", "mail")),
    "dict for payloads": (TypeError, "pass a list", lambda c: c.enqueue_batch("mail", {"a": 1})),
    "text for a number": (
        TypeError,
        "integer",
        lambda c: c.enqueue_job("mail", priority="1"),  # type: ignore[arg-type]
    ),
    "fraction for a number": (
        TypeError,
        "integer",
        lambda c: c.enqueue_job("mail", priority=1.5),  # type: ignore[arg-type]
    ),
    "number for a text": (
        TypeError,
        "str",
        lambda c: c.enqueue_job(7),  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize(("error", "message", "call"), NOT_SENT.values(), ids=NOT_SENT)
def test_it_is_refused_before_it_is_sent(
    client: Client, error: type[Exception], message: str, call: Call
) -> None:
    with pytest.raises(error, match=message):
        call(client)


def test_duplicate_tags_are_one(dsn: str) -> None:
    with Client(dsn) as client:
        client.create_queue("mail")
        assert client.get_job(client.enqueue_job("mail", tags=["b", "a", "b"])).tags == ["a", "b"]


def test_a_job_is_finished_once_and_only_by_its_owner(dsn: str) -> None:
    with Client(dsn) as client:
        client.create_fifo_queue("orders")
        client.enqueue_batch("orders", [1, 2], ["a", "b"])
        [first] = client.claim_job_batch("w", batch_size=1)
        [second] = client.claim_job_batch("w", batch_size=1)
        for call in (
            lambda: client.complete_job(first.id, lease_token=second.lease_token),
            lambda: client.fail_job(first.id, "no", second.lease_token),
            lambda: client.report_progress(first.id, second.lease_token, 1),
            lambda: client.complete_job(first.id),
        ):
            with pytest.raises(LeaseLost):
                call()
        assert client.get_job(first.id).state == "active"
        assert client.complete_jobs([first.id], second.lease_token)[0].verdict == "lease_lost"

        client.complete_job(first.id, 1, first.lease_token)
        with pytest.raises(InvalidState):
            client.complete_job(first.id, 2)
        assert client.complete_jobs([first.id])[0].verdict == "invalid_state"
        assert client.get_job(first.id).result == 1
