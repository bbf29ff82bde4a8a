"""Jobs that Python cannot read and that are stored already: they fail alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgbaton import AsyncClient, Client, UnreadableJson, Worker

POISON = "[1" + "0" * 5000 + "]"
"""json.loads refuses to read integers of more than 4,300 digits."""


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        client.create_queue("q", max_attempts=3)
        client.create_fifo_queue("f")
        yield client


def poison(dsn: str, job_id: int) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("update pgbaton.job set payload = %s where id = %s", [POISON, job_id])


def test_json_loads_cannot_read_it() -> None:
    with pytest.raises(ValueError, match="4300 digits"):
        json.loads(POISON)


def test_a_claim_has_all_its_jobs(client: Client, dsn: str) -> None:
    ids = client.enqueue_batch("q", [1, 2, 3])
    poison(dsn, ids[1])
    first, bad, last = client.claim_job_batch("w")
    assert (first.payload, last.payload) == (1, 3)
    assert isinstance(bad.payload, UnreadableJson)
    assert bad.payload.text == POISON
    assert "4300 digits" in str(bad.payload)
    assert len(client.claimed_jobs(bad.lease_token)) == 3
    client.fail_job(bad.id, "no", bad.lease_token, retryable=False)
    assert isinstance(client.get_job(bad.id).payload, UnreadableJson)
    assert isinstance(client.get_dead_job(bad.id).payload, UnreadableJson)
    assert isinstance(client.list_dead_jobs("q")[0].payload, UnreadableJson)


def test_what_was_stored_of_it_elsewhere(client: Client, dsn: str) -> None:
    """Results, key-values and schedules."""
    job_id = client.enqueue_job("q", keys_if_undelivered=[["a"]])
    [job] = client.claim_job_batch("w")
    client.complete_job(job.id, 1, job.lease_token)
    client.create_schedule("s", "q", "* * * * *")
    client.enqueue_job("q", keys_if_undelivered=[["a"]])
    [failing] = client.claim_job_batch("w")
    client.fail_job(failing.id, "no", failing.lease_token, retryable=False)
    with psycopg.connect(dsn) as conn:
        conn.execute("update pgbaton.job_report set result = %s where result = '1'", [POISON])
        conn.execute("update pgbaton.kv set value = %s", [POISON])
        conn.execute("update pgbaton.schedule set payload = %s", [POISON])
    assert isinstance(client.get_job(job_id).result, UnreadableJson)
    assert isinstance(client.kv_get(["a"]), UnreadableJson)
    assert isinstance(client.kv_list(["a"])[0].value, UnreadableJson)
    assert isinstance(client.list_schedules()[0].payload, UnreadableJson)


@pytest.mark.parametrize("kind", ["async", "thread"])
@pytest.mark.parametrize("queue", ["q", "f"])
def test_a_worker_fails_it_alone(client: Client, dsn: str, kind: str, queue: str) -> None:
    ids = client.enqueue_batch(queue, [1, 2, 3], ["a", "b", "c"])
    poison(dsn, ids[1])
    worker, seen = Worker(dsn), list[Any]()

    def note(job: Any) -> None:
        seen.append(job.payload)
        if len(seen) == 2:
            worker.stop()

    async def note_async(job: Any) -> None:
        note(job)

    worker.handler(queue)(note_async if kind == "async" else note)
    worker.run()
    assert seen == [1, 3]
    assert [client.get_job(job_id).attempt for job_id in ids] == [1, 1, 1]
    bad = client.get_job(ids[1])
    assert bad.state == "failed"
    assert "cannot be read" in str(bad.error_message)


def test_a_stream_fails_it_alone(client: Client, dsn: str) -> None:
    ids = client.enqueue_batch("q", [1, 2, 3])
    poison(dsn, ids[1])

    async def read() -> list[Any]:
        async with AsyncClient(dsn) as streaming:
            seen: list[Any] = []
            async with aclosing(streaming.stream_jobs("w", max_assigned_jobs=2)) as stream:
                async for batch in stream:
                    for job in batch:
                        seen.append(job.payload)
                        await streaming.complete_job(job.id, lease_token=job.lease_token)
                    if len(seen) == 2:
                        return seen
            raise AssertionError

    assert asyncio.run(asyncio.wait_for(read(), 30)) == [1, 3]
    bad = client.get_job(ids[1])
    assert bad.state == "failed"
    assert "cannot be read" in str(bad.error_message)


@pytest.mark.parametrize("text", ["1e3999", "-1e3999", "1e-9000", "0." + "1" * 9000, "1e400"])
def test_what_the_database_takes_is_read(client: Client, dsn: str, text: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("select pgbaton.enqueue_job('q', %s::jsonb)", [f'{{"a": [{text}]}}'])
    [job] = client.claim_job_batch("w")
    assert not isinstance(job.payload, UnreadableJson)


def test_the_largest_number_of_python_is_refused_with_a_hint(client: Client) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.enqueue_job("q", 10**4100)
    assert caught.value.sqlstate == "PB011"
    assert caught.value.diag.message_hint
    assert client.enqueue_job("q", 10**3999)


def test_a_connection_of_the_user_keeps_its_own_loader(client: Client, dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        assert conn.execute("select %s", [Jsonb({"a": 1})]).fetchone() == ({"a": 1},)
        job_id = client.enqueue_job("q")
        poison(dsn, job_id)
        assert isinstance(Client(connection=conn).get_job(job_id).payload, UnreadableJson)
