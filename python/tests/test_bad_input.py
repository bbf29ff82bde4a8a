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
    TooManyLanes,
    UnknownJob,
    UnknownQueue,
)

Call = Callable[[Client], Any]
UTC = UTC
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
            client.enqueue_batch("orders", [1, 2], ["a", "b"])
            yield client
        admin.execute(f"drop database {name}".encode())


@pytest.fixture
def client(shared: Client) -> Iterator[Client]:
    before = snapshot(shared)
    yield shared
    assert snapshot(shared) == before


def snapshot(client: Client) -> tuple[Any, ...]:
    stats = [(s.queue, s.pending, s.total, s.completed) for s in client.queue_stats()]
    return client.list_queues(), stats, client.get_job_stats()


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
    "policy to come": (pg.FeatureNotSupported, lambda c: c.create_queue("a", "short")),
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
