"""GET /metrics: those of pgbaton.metrics, and the streams of the process."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from serving import Served

from pgbaton import Client


def samples(served: Served) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = served.ask("GET", "/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_queues_and_streams(gateway: Served, client: Client, queue: str) -> None:
    client.enqueue_batch(queue, range(3))
    with gateway.listen(f"/{queue}/api/queue/listen?capacity=2") as stream:
        assert [next(stream).name for _ in range(2)] == ["message"] * 2
        found = samples(gateway)
        assert found["pgbaton_up", frozenset()] == 1
        pending = frozenset({("queue", queue), ("state", "pending")})
        assert found["pgbaton_jobs", pending] == 1
        of_queue = frozenset({("queue", queue)})
        assert found["pgbaton_http_streams", of_queue] == 1
        assert found["pgbaton_http_held_messages", of_queue] == 2


def test_it_has_the_rights_of_the_caller(guarded: Served) -> None:
    assert samples(guarded.of("shop"))["pgbaton_up", frozenset()] == 1
    assert guarded.of("till").status("GET", "/metrics") == 403
