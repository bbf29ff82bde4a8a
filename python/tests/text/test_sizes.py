"""Large and odd texts from Python: taken whole, or refused, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from pgbaton import ClaimedJob, Client, Json, PayloadTooLarge

MB = 2**20


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        client.create_queue("q", max_attempts=2)
        client.create_fifo_queue("orders")
        yield client


def claim(client: Client, queue: str = "q") -> ClaimedJob:
    [job] = client.claim_job_batch("w", [queue])
    return job


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("text", ["x" * MB, "ü" * MB, "🥖\n" * (MB // 4), "'" * MB, "\\" * MB])
def test_an_error_message_of_a_megabyte(client: Client, text: str) -> None:
    client.enqueue_job("q")
    job = claim(client)
    client.fail_job(job.id, text, job.lease_token, retry_in="0")
    assert client.get_job(job.id).error_message == text
    assert claim(client).id == job.id


def test_messages_of_a_batch_and_of_a_blocked_key(client: Client) -> None:
    client.enqueue_batch("orders", [1, 2], ["a", "b"])
    jobs = client.claim_job_batch("w", ["orders"])
    messages = ["x" * MB, "ü" * MB]
    client.fail_jobs([job.id for job in jobs], messages, jobs[0].lease_token, retryable=False)
    assert [key.last_error for key in client.blocked_keys("orders")] == messages
    assert {job.error_message for job in client.list_dead_jobs("orders")} == set(messages)


@pytest.mark.parametrize("character", ["x", "ü", "漢", "🥖"])
def test_a_payload_just_below_16_mb(client: Client, character: str) -> None:
    text = character * ((16 * MB - 100) // len(character.encode()))
    client.enqueue_job("q", text)
    job = claim(client)
    assert job.payload == text
    client.complete_job(job.id, lease_token=job.lease_token)


TOO_LARGE: dict[str, Callable[[Client], object]] = {
    "16 MB and a little": lambda c: c.enqueue_job("q", "x" * (16 * MB)),
    "50 MB": lambda c: c.enqueue_job("q", "x" * (50 * MB)),
    "50 MB of a list": lambda c: c.enqueue_job("orders", ["x" * MB] * 50, singleton_key="k"),
    "50 MB in a batch": lambda c: c.enqueue_batch("q", [1, "x" * (50 * MB), 2]),
    "501 levels": lambda c: c.enqueue_job("q", nested(502)),
    "501 levels in a batch": lambda c: c.enqueue_batch("q", [1, nested(502)]),
    "501 levels in a list": lambda c: c.enqueue_jobs("q", [{"payload": nested(502)}]),
}


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=name, marks=pytest.mark.proof if "50 MB" in name else ())
        for name, call in TOO_LARGE.items()
    ],
)
def test_payloads_that_are_too_large(client: Client, call: Callable[[Client], object]) -> None:
    with pytest.raises(PayloadTooLarge) as caught:
        call(client)
    assert caught.value.hint
    assert [stat.total for stat in client.queue_stats()] == [0, 0]


def test_a_batch_above_16_mb_of_small_payloads(client: Client) -> None:
    """The limit is that of a payload, not of a call."""
    ids = client.enqueue_batch("q", ["x" * MB] * 20)
    assert len(client.claim_job_batch("w", ["q"], batch_size=20)) == len(ids) == 20


def test_the_deepest_payload_is_read_by_a_worker(client: Client) -> None:
    client.enqueue_job("q", nested(499))
    assert claim(client).payload == nested(499)


def test_thousands_of_levels(client: Client, dsn: str) -> None:
    """From Python nothing is sent; from SQL it is refused, or no worker in Python could read it."""
    with pytest.raises(RecursionError):
        client.enqueue_job("q", nested(5_000))
    with psycopg.connect(dsn) as conn, pytest.raises(psycopg.Error) as caught:
        conn.execute(
            "select pgbaton.enqueue_job('q', (repeat('[', 5000) || repeat(']', 5000))::jsonb)"
        )
    assert caught.value.sqlstate == "PB011"
    assert client.queue_stats("q")[0].total == 0


def test_a_result_that_is_too_deep(client: Client) -> None:
    """Whoever asks for the job afterwards could not read it."""
    ids = client.enqueue_batch("q", [1, 2])
    [job, _] = client.claim_job_batch("w", ["q"])
    with pytest.raises(PayloadTooLarge):
        client.complete_job(job.id, nested(502), job.lease_token)
    with pytest.raises(PayloadTooLarge):
        client.complete_jobs(ids, job.lease_token, [1, nested(502)])
    assert [client.get_job(job_id).state for job_id in ids] == ["active", "active"]
    client.complete_jobs(ids, job.lease_token, [1, nested(499)])
    assert client.get_job(ids[1]).result == nested(499)


def test_a_result_above_16_mb(client: Client) -> None:
    client.enqueue_job("q")
    job = claim(client)
    with pytest.raises(PayloadTooLarge, match=r"result of \d+ bytes is above 16 MB"):
        client.complete_job(job.id, "x" * (17 * MB), job.lease_token)
    client.complete_job(job.id, "x" * (15 * MB), job.lease_token)
    assert client.get_job(job.id).result == "x" * (15 * MB)
