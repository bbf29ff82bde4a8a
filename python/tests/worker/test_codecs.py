"""Encoders of clients and workers, decoders of workers."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from workers import running, wait_for_state

from pgbaton import (
    AsyncClient,
    Client,
    Codec,
    CodecError,
    Fail,
    Failure,
    Retry,
    RunningJob,
    Worker,
    task,
)
from pgbaton.testing import run_jobs

ENCODE = Codec().encode


@dataclass
class Parcel:
    weight: Decimal


class Opaque:
    """Nothing that JSON knows."""


def wrap(value: Any) -> str:
    """As one would who encrypts."""
    if isinstance(value, Opaque):
        raise TypeError("an opaque thing")
    return base64.b64encode(json.dumps(value).encode()).decode()


def unwrap(job: RunningJob) -> Any:
    if not isinstance(job.payload, str):
        raise ValueError(f"{job.payload} is not wrapped")
    return json.loads(base64.b64decode(job.payload))


def double(job: RunningJob) -> Any:
    return job.payload * 2


@pytest.fixture
def encoding(dsn: str, client: Client) -> Iterator[Client]:
    with Client(dsn, encode=ENCODE) as encoding:
        yield encoding


def the_payload(client: Client, job_id: int) -> Any:
    return client.get_job(job_id).payload


def test_every_payload_of_a_client_is_encoded(client: Client, encoding: Client) -> None:
    parcel, stored = Parcel(Decimal("1.10")), {"weight": "1.10"}
    first = encoding.enqueue_job("mail", parcel)
    assert the_payload(client, first) == stored
    [second] = encoding.enqueue_jobs("mail", iter([{"payload": parcel, "priority": 3}]))
    assert second.job_id is not None
    assert the_payload(client, second.job_id) == stored
    assert client.get_job(second.job_id).priority == 3
    for job_id in encoding.enqueue_batch("mail", (parcel for _ in range(2))):
        assert the_payload(client, job_id) == stored
    encoding.subscribe("mail", "parcel.*")
    [published] = encoding.publish("parcel.sent", parcel)
    assert the_payload(client, published) == stored
    encoding.create_schedule("nightly", "mail", "0 3 * * *", payload=parcel)
    scheduled = client.run_schedule("nightly")
    assert scheduled is not None
    assert the_payload(client, scheduled) == stored


def test_what_is_left_out_stays_so(client: Client, dsn: str) -> None:
    with Client(dsn, encode=lambda value: ["seen", value]) as encoding:
        assert the_payload(client, encoding.enqueue_job("mail")) == {}
        assert the_payload(client, encoding.enqueue_job("mail", None)) == ["seen", None]
        [bare] = encoding.enqueue_jobs("mail", [{"job_type": "bare"}])
        assert bare.job_id is not None
        assert the_payload(client, bare.job_id) == {}
        [job] = encoding.claim_job_batch("w", ["mail"], ["bare"], batch_size=1)
        encoding.complete_job(job.id, None, job.lease_token)
        assert client.get_job(job.id).result is None


def test_every_result_of_a_client_is_encoded(client: Client, encoding: Client) -> None:
    parcel, stored = Parcel(Decimal("1.10")), {"weight": "1.10"}
    client.enqueue_batch("mail", range(4))
    jobs = client.claim_job_batch("w", ["mail"], batch_size=4)
    ids, token = [job.id for job in jobs], jobs[0].lease_token
    encoding.complete_job(ids[0], parcel, token)
    encoding.complete_jobs(iter(ids[1:3]), token, [parcel, None])
    encoding.complete_and_claim(ids[3:], token, "w", results=[parcel])
    assert [client.get_job(job_id).result for job_id in ids] == [stored, stored, None, stored]


def test_the_asynchronous_client_encodes(client: Client, dsn: str) -> None:
    async def enqueue() -> int:
        async with AsyncClient(dsn, encode=ENCODE) as other:
            return await other.enqueue_job("mail", Parcel(Decimal(2)))

    assert the_payload(client, asyncio.run(enqueue())) == {"weight": "2"}


def test_a_client_in_a_transaction_encodes(client: Client, dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        job_id = Client(connection=conn, encode=ENCODE).enqueue_job("mail", Parcel(Decimal(2)))
    assert the_payload(client, job_id) == {"weight": "2"}


def test_what_cannot_be_encoded_is_named(client: Client, encoding: Client) -> None:
    thing = Opaque()
    named = "a Opaque, cannot be encoded: Opaque cannot be encoded: add it to the codec"
    with pytest.raises(CodecError, match=f"the payload of a job of queue mail, type t, {named}"):
        encoding.enqueue_job("mail", thing, job_type="t")
    with pytest.raises(CodecError, match=f"the payload of job 2 of queue mail, type t, {named}"):
        encoding.enqueue_jobs("mail", [{}, {"payload": thing, "job_type": "t"}])
    with pytest.raises(CodecError, match=f"the payload of job 3 of queue mail, {named}"):
        encoding.enqueue_batch("mail", [1, 2, thing])
    with pytest.raises(CodecError, match=f"the payload of topic a.b, {named}"):
        encoding.publish("a.b", thing)
    with pytest.raises(CodecError, match=f"the result of job 7, {named}"):
        encoding.complete_job(7, thing)
    with pytest.raises(CodecError, match=f"the result of job 8, {named}"):
        encoding.complete_jobs([7, 8], results=[1, thing])
    with pytest.raises(CodecError, match=f"result 2, {named}"):
        encoding.complete_jobs(iter([7, 8]), results=[1, thing])
    assert client.queue_stats("mail")[0].total == 0


def test_what_an_encoder_makes_has_to_be_json(client: Client, dsn: str) -> None:
    with (
        Client(dsn, encode=lambda value: {value}) as encoding,
        pytest.raises(CodecError, match="a str, cannot be encoded: Object of type set is not JSON"),
    ):
        encoding.enqueue_job("mail", "x")
    assert client.queue_stats("mail")[0].total == 0


def test_coders_have_to_be_functions(dsn: str) -> None:
    for make in (Client, AsyncClient, Worker):
        with pytest.raises(TypeError, match="encode is 'json': pass a function"):
            make(dsn, encode="json")  # type: ignore[operator]
    with pytest.raises(TypeError, match="decode is 7: pass a function"):
        Worker(dsn, decode=7)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["async", "thread", "process"])
def test_a_worker_decodes_and_encodes(client: Client, dsn: str, kind: str) -> None:
    worker = Worker(dsn, encode=wrap, decode=unwrap, shutdown_timeout=timedelta(0))
    seen: list[Any] = []
    failures: list[Failure] = []

    async def double_async(job: RunningJob) -> Any:
        return double(job)

    handler = double_async if kind == "async" else double
    worker.handler("mail", process=kind == "process")(handler)
    worker.on_error(failures.append)

    @worker.around
    def look(job: RunningJob) -> Iterator[None]:
        seen.append(job.payload)
        yield
        seen.append(job.payload)

    with Client(dsn, encode=wrap) as wrapping:
        good = wrapping.enqueue_job("mail", [1, "a"])
    bad = client.enqueue_job("mail", [2], job_type="t", max_attempts=1)
    with running(worker):
        wait_for_state(client, good, "completed")
        wait_for_state(client, bad, "failed")
    assert client.get_job(good).result == wrap([1, "a", 1, "a"])
    said = client.get_job(bad).error_message or ""
    decoding = f"the payload of job {bad} of type t cannot be decoded: ValueError: [2] is not wrapp"
    assert said.startswith(f"pgbaton.CodecError: {decoding}")
    assert "test_codecs.py" in said  # where the decoder raised
    assert "in unwrap" in said
    assert seen.count(wrap([1, "a"])) == 2  # as it is stored, before and after
    [failure] = failures
    assert isinstance(failure.error, CodecError)
    assert (failure.job.payload, failure.is_final) == ([2], True)


def test_a_result_that_cannot_be_encoded_fails_its_attempt(client: Client, dsn: str) -> None:
    worker = Worker(dsn, encode=wrap, shutdown_timeout=timedelta(0))
    worker.handler("mail")(lambda job: Opaque() if job.payload else None)
    bad = client.enqueue_job("mail", True, max_attempts=1)
    none = client.enqueue_job("mail", False)
    with running(worker):
        wait_for_state(client, bad, "failed")
        wait_for_state(client, none, "completed")
    assert client.get_job(none).result is None
    assert (client.get_job(bad).error_message or "").startswith(
        f"pgbaton.CodecError: the result of job {bad}, a Opaque, cannot be encoded: an opaque thing"
    )


def test_a_decoder_says_what_its_failure_means(client: Client, dsn: str) -> None:
    def decode(job: RunningJob) -> Any:
        if job.payload == "fail":
            raise Fail("of no use")
        if job.payload == "retry":
            raise Retry("later", after=timedelta(hours=1))
        raise LookupError(job.payload)

    worker = Worker(dsn, decode=decode, shutdown_timeout=timedelta(0))
    worker.handler("mail", rules={CodecError: Fail()})(print)
    jobs = {name: client.enqueue_job("mail", name) for name in ("fail", "retry", "other")}
    with running(worker):
        wait_for_state(client, jobs["fail"], "failed")
        wait_for_state(client, jobs["retry"], "retry")
        wait_for_state(client, jobs["other"], "failed")
    assert client.get_job(jobs["fail"]).error_message == "of no use"
    assert "LookupError: other" in (client.get_job(jobs["other"]).error_message or "")


def test_tasks_pass_through_both(client: Client, dsn: str) -> None:
    @task("mail")
    def weigh(parcels: list[Parcel]) -> Decimal:
        return sum((parcel.weight for parcel in parcels), Decimal(0))

    worker = Worker(dsn, encode=wrap, decode=unwrap, shutdown_timeout=timedelta(0))
    worker.add(weigh)
    with Client(dsn, encode=wrap) as wrapping:
        job_id = weigh.enqueue(wrapping, [Parcel(Decimal("1.5")), Parcel(Decimal(2))])
        assert isinstance(the_payload(client, job_id), str)
        assert run_jobs(wrapping, worker).completed == [job_id]
    assert client.get_job(job_id).result == wrap("3.5")


def test_a_process_has_to_know_them(dsn: str) -> None:
    worker = Worker(dsn, decode=lambda job: job.payload)
    with pytest.raises(TypeError, match="of a process must be functions of a module"):
        worker.handler("mail", process=True)(double)
