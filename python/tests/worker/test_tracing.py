"""A trace goes on from the producer through the job into its handlers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from workers import running, wait_for_state

import pgbaton
from pgbaton import AsyncClient, Client, RunningJob, Worker

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import Tracer

# Nothing of opentelemetry is imported with this module: the other tests run without it.


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    yield exporter
    # The provider stays for the process: shut down, it would warn of each span of later tests.
    exporter.shutdown()


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    exporter.clear()
    return exporter


@pytest.fixture
def tracer(spans: InMemorySpanExporter) -> Tracer:
    from opentelemetry import trace

    return trace.get_tracer("test")


def consumers(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    return [s for s in spans.get_finished_spans() if s.kind.name == "CONSUMER"]


def traceparent(span: Any) -> str:
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def is_child(span: ReadableSpan, of: Any) -> bool:
    parent, context = span.parent, of.get_span_context()
    return parent is not None and (parent.trace_id, parent.span_id, span.context.trace_id) == (
        context.trace_id, context.span_id, context.trace_id
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["async", "thread", "process"])
def test_the_handler_is_in_the_trace_of_the_producer(
    dsn: str, client: Client, spans: InMemorySpanExporter, tracer: Tracer, kind: str
) -> None:
    from traced_handlers import trace_of

    async def trace_of_async(job: RunningJob) -> list[str]:
        return trace_of(job)

    worker = Worker(dsn)
    function = trace_of_async if kind == "async" else trace_of
    worker.handler("orders", process=kind == "process")(function)
    with tracer.start_as_current_span("request") as request:
        job_id = client.enqueue_job("orders", singleton_key="k", job_type="pay")
    assert client.get_job(job_id).headers == {"traceparent": traceparent(request)}
    with running(worker):
        wait_for_state(client, job_id, "completed")
    [span] = consumers(spans)
    assert is_child(span, request)
    assert client.get_job(job_id).result == [
        f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"
    ]  # fmt: skip
    assert span.name == "process orders"
    assert span.attributes == {
        "messaging.system": "pgbaton",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "orders",
        "messaging.message.id": str(job_id),
        "pgbaton.job_type": "pay",
        "pgbaton.attempt": 1,
        "pgbaton.singleton_key": "k",
    }
    assert span.status.is_unset


@pytest.mark.parametrize("kind", ["async", "thread"])
def test_a_job_without_a_trace_begins_one(
    dsn: str, client: Client, spans: InMemorySpanExporter, tracer: Tracer, kind: str
) -> None:
    """Its span is no child of what the worker was started in."""
    worker = Worker(dsn)

    def work(job: RunningJob) -> None:
        worker.stop()

    async def work_async(job: RunningJob) -> None:
        worker.stop()

    worker.handler("mail")(work_async if kind == "async" else work)
    client.enqueue_job("mail")
    with tracer.start_as_current_span("the program"):
        worker.run()
    [span] = consumers(spans)
    assert span.parent is None


def test_what_a_handler_enqueues_is_in_its_trace(
    dsn: str, client: Client, spans: InMemorySpanExporter, tracer: Tracer
) -> None:
    client.create_queue("next")
    worker = Worker(dsn)

    @worker.handler("mail")
    def hand_on(job: RunningJob) -> int:
        with Client(dsn) as mine:
            return mine.enqueue_job("next")

    @worker.handler("next")
    async def end(job: RunningJob) -> None:
        pass

    with tracer.start_as_current_span("request"):
        first = client.enqueue_job("mail")
    with running(worker):
        wait_for_state(client, first, "completed")
        wait_for_state(client, client.get_job(first).result, "completed")
    one, two = sorted(consumers(spans), key=lambda span: span.start_time or 0)
    assert is_child(two, one)


def test_every_way_to_enqueue_takes_the_span_along(
    dsn: str, client: Client, tracer: Tracer
) -> None:
    client.subscribe("mail", "news")
    mine = {"tenant": "7"}
    with tracer.start_as_current_span("request") as request:
        ids = [
            client.enqueue_job("mail", headers=mine),
            *client.enqueue_batch("mail", [1, 2], headers=mine),
            *(o.job_id for o in client.enqueue_jobs("mail", [{"headers": mine}] * 2)),
            *client.publish("news", 1, headers=mine),
        ]

        async def also() -> int:
            async with AsyncClient(dsn) as client:
                return await client.enqueue_job("mail", headers=mine)

        ids.append(asyncio.run(also()))
        forwarded = client.enqueue_job("mail", headers={"traceparent": "mine"})
    assert len(ids) == 7
    for job_id in ids:
        assert job_id is not None
        assert client.get_job(job_id).headers == {**mine, "traceparent": traceparent(request)}
    assert client.get_job(forwarded).headers == {"traceparent": "mine"}
    assert client.get_job(client.enqueue_job("mail")).headers is None
    assert client.get_job(client.enqueue_job("mail", headers=mine)).headers == mine
    assert mine == {"tenant": "7"}


def test_a_context_that_is_too_large_is_cut(client: Client, tracer: Tracer) -> None:
    from opentelemetry import baggage, context

    token = context.attach(baggage.set_baggage("long", "x" * 4000))
    try:
        with tracer.start_as_current_span("request") as request:
            whole = client.enqueue_job("mail")
            cut = client.enqueue_job("mail", headers={"mine": "ü" * 100})
            none = client.enqueue_job("mail", headers={"mine": "x" * 4080})
    finally:
        context.detach(token)
    parent = {"traceparent": traceparent(request)}
    assert client.get_job(whole).headers == {**parent, "baggage": f"long={'x' * 4000}"}
    assert client.get_job(cut).headers == {**parent, "mine": "ü" * 100}
    assert client.get_job(none).headers == {"mine": "x" * 4080}


def test_failed_attempts_are_errors_and_all_are_children_of_the_producer(
    dsn: str, client: Client, spans: InMemorySpanExporter, tracer: Tracer
) -> None:
    worker = Worker(dsn)

    @worker.handler("mail")
    def work(job: RunningJob) -> None:
        if job.payload == "later":
            raise pgbaton.Snooze(timedelta(hours=1))
        if job.attempt == 1:
            raise ValueError("no funds")

    with tracer.start_as_current_span("request") as request:
        failing = client.enqueue_job("mail", "fails once")
        later = client.enqueue_job("mail", "later")
    with running(worker):
        wait_for_state(client, failing, "completed")
        wait_for_state(client, later, "retry")
    found = {
        (span.attributes["messaging.message.id"], span.attributes["pgbaton.attempt"]): span  # type: ignore[index]
        for span in consumers(spans)
    }
    assert set(found) == {(str(failing), 1), (str(failing), 2), (str(later), 1)}
    for span in found.values():
        assert is_child(span, request)
    failed = found[str(failing), 1]
    assert failed.status.status_code.name == "ERROR"
    [event] = failed.events
    assert "no funds" in str(event.attributes["exception.message"])  # type: ignore[index]
    assert "Traceback" in str(event.attributes["exception.stacktrace"])  # type: ignore[index]
    assert found[str(failing), 2].status.is_unset
    assert found[str(later), 1].status.is_unset


@pytest.mark.parametrize("kind", ["async", "thread"])
def test_a_tracer_that_fails_fails_the_attempt_only(
    dsn: str,
    client: Client,
    spans: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    """The worker would hold the job for ever, and have one place less."""
    from opentelemetry.sdk.trace import Tracer

    worker = Worker(dsn, capacity=1, shutdown_timeout=timedelta(0))

    def work(job: RunningJob) -> None:
        pass

    async def work_async(job: RunningJob) -> None:
        pass

    def start_span(*_: object, **__: object) -> None:
        monkeypatch.undo()
        raise RuntimeError("no sampler")

    worker.handler("mail")(work_async if kind == "async" else work)
    monkeypatch.setattr(Tracer, "start_span", start_span)
    job_id = client.enqueue_job("mail")
    with running(worker):
        wait_for_state(client, job_id, "completed")
    assert client.get_job(job_id).retry_count == 1


HOSTILE = [
    {"traceparent": ""},
    {"traceparent": "00-" + "0" * 32 + "-" + "0" * 16 + "-00"},
    {"traceparent": "ff-" + "a" * 32 + "-" + "b" * 16 + "-01"},
    {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01" * 500},
    {"traceparent": "00-\x01\n\t🐘"},
    {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01", "tracestate": "=,;" * 1000},
    {"baggage": "%00=%ff," * 400},
    {"": "", "TRACEPARENT": "x"},
]


def test_hostile_headers_stop_no_job(dsn: str, client: Client, spans: InMemorySpanExporter) -> None:
    worker = Worker(dsn)
    worker.handler("mail")(lambda job: job.headers)
    ids = [client.enqueue_job("mail", headers=headers) for headers in HOSTILE]
    with running(worker):
        for job_id, headers in zip(ids, HOSTILE, strict=True):
            wait_for_state(client, job_id, "completed")
            assert client.get_job(job_id).result == headers
    assert len(consumers(spans)) == len(HOSTILE)


def test_headers_that_are_none_are_refused(client: Client) -> None:
    with pytest.raises(pgbaton.PayloadTooLarge):
        client.enqueue_job("mail", headers={"a": "x" * 5000})
    for headers in ({"a": 1}, {"a": None}, {"a": {}}):
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            client.enqueue_batch("mail", [1], headers=headers)  # type: ignore[arg-type]


PROGRAM = """
    import sys

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "opentelemetry":
                raise ModuleNotFoundError(name)

    sys.meta_path.insert(0, Missing())
    from pgbaton import Client, Worker

    dsn = sys.argv[1]
    worker = Worker(dsn)

    @worker.handler("mail")
    def work(job):
        worker.stop()
        return job.headers

    with Client(dsn) as client:
        job_id = client.enqueue_job("mail", headers={"traceparent": "as it is"})
        worker.run()
        print(client.get_job(job_id).result)
    print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_without_the_extra_headers_are_just_carried(dsn: str, client: Client) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), dsn],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["{'traceparent': 'as it is'}", "[]"]
