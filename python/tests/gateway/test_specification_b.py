"""The session of specification b: its own curl commands, against a running gateway."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from serving import Served, messages, serving

from pgbaton import Client

B = "http://localhost:8000"


@pytest.fixture(autouse=True)
def is_empty(gateway: Served, client: Client) -> None:
    """The commands are about one queue, which they begin with empty."""
    client.drop_queue("keyval", force=True)
    client.create_queue(
        "keyval", lease="30 s", backoff_schedule=["1 s", "5 s", "10 s"], max_attempts=4
    )


class Shell:
    """Runs commands as they stand in the specification, but for ids and the address."""

    def __init__(self, gateway: Served, client: Client, dsn: str) -> None:
        self._gateway = gateway
        self._client = client
        self._dsn = dsn

    def __call__(self, command: str, **ids: str) -> Any:
        for placeholder, real in ids.items():
            command = command.replace(placeholder.replace("_", "-"), real)
        done = subprocess.run(
            ["bash", "-c", command.replace(B, self._gateway.url).replace("curl", "curl -sS", 1)],
            capture_output=True, text=True, check=True, timeout=30,
        )  # fmt: skip
        assert done.stderr == ""
        return json.loads(done.stdout)

    def make_due(self, message_id: str) -> None:
        """The wait before a retry is over."""
        with psycopg.connect(self._dsn, autocommit=True) as conn:
            conn.execute(
                "update pgbaton.span set run_at = now() - interval '1 second'"
                " where lo = %s and run_at is not null",
                [message_id],
            )

    def wait(self, message_id: str) -> float | None:
        """Seconds until it may be dequeued."""
        run_at = self._client.get_job(int(message_id)).run_at
        with psycopg.connect(self._dsn) as conn:
            [[now]] = conn.execute("select clock_timestamp()").fetchall()
        return (run_at - now).total_seconds() if run_at else None

    def exhaust(self, message_id: str, command: str, retries: int) -> list[float]:
        """Rejects it until it is dead, and returns the waits before the retries."""
        waits = []
        for attempt in range(1, retries + 2):
            polled = self(f"curl {B}/keyval/api/queue/poll")
            assert polled["message"]["id"] == message_id
            assert polled["message"]["attempts"] == attempt
            assert self(command, ID=message_id) == {"ok": True}
            if attempt <= retries:
                waits.append(self.wait(message_id) or 0)
                self.make_due(message_id)
        return waits


@pytest.fixture
def curl(gateway: Served, client: Client, gateway_dsn: str) -> Shell:
    assert shutil.which("curl"), "apt-get install curl"
    return Shell(gateway, client, gateway_dsn)


SIMPLE = """curl -X POST http://localhost:8000/keyval/api/queue/enqueue \\
  -H "Content-Type: application/json" \\
  -d '{"value": {"task": "send-email", "to": "user@example.com"}}'"""
POLL = "curl http://localhost:8000/keyval/api/queue/poll"
ACK = """curl -X POST http://localhost:8000/keyval/api/queue/ack \\
  -H "Content-Type: application/json" \\
  -d '{"id": "ID"}'"""
NACK = ACK.replace("/ack", "/nack")
STATS = "curl http://localhost:8000/keyval/api/queue/stats"


def test_simple_enqueue_poll_and_ack(curl: Shell) -> None:
    said = curl(SIMPLE)
    assert said == {"ok": True, "id": said["id"]}
    assert said["id"].isdigit()
    assert curl(STATS) == {"pending": 1, "processing": 0, "dlq": 0, "total": 1}
    assert curl(POLL) == {
        "message": {
            "id": said["id"],
            "value": {"task": "send-email", "to": "user@example.com"},
            "attempts": 1,
        }
    }
    assert curl(STATS) == {"pending": 0, "processing": 1, "dlq": 0, "total": 1}
    assert curl(POLL) == {"message": None}
    assert curl(ACK, ID=said["id"]) == {"ok": True}
    assert curl(STATS) == {"pending": 0, "processing": 0, "dlq": 0, "total": 0}


def test_delayed_delivery(curl: Shell) -> None:
    said = curl("""curl -X POST http://localhost:8000/keyval/api/queue/enqueue \\
  -H "Content-Type: application/json" \\
  -d '{
    "value": {"task": "send-reminder"},
    "options": {"delay": 60000}
  }'""")
    assert 50 < (curl.wait(said["id"]) or 0) <= 60
    assert curl(POLL) == {"message": None}
    curl.make_due(said["id"])
    assert curl(POLL)["message"]["id"] == said["id"]


def test_custom_retry_schedule(curl: Shell) -> None:
    said = curl("""curl -X POST http://localhost:8000/keyval/api/queue/enqueue \\
  -H "Content-Type: application/json" \\
  -d '{
    "value": {"task": "webhook", "url": "https://api.example.com/hook"},
    "options": {
      "backoffSchedule": [1000, 5000, 30000]
    }
  }'""")
    waits = curl.exhaust(said["id"], NACK, retries=3)
    for wait, planned in zip(waits, [1, 5, 30], strict=True):
        assert planned - 5 < wait <= planned
    assert curl(STATS) == {"pending": 0, "processing": 0, "dlq": 1, "total": 1}


def test_the_default_schedule_is_1_5_and_10_seconds(curl: Shell) -> None:
    waits = curl.exhaust(curl(SIMPLE)["id"], NACK, retries=3)
    for wait, planned in zip(waits, [1, 5, 10], strict=True):
        assert planned - 5 < wait <= planned
    assert curl(STATS)["dlq"] == 1


def test_keys_if_undelivered(curl: Shell) -> None:
    said = curl("""curl -X POST http://localhost:8000/keyval/api/queue/enqueue \\
  -H "Content-Type: application/json" \\
  -d '{
    "value": {"task": "process-payment", "orderId": "ord-123", "amount": 99.99},
    "options": {
      "backoffSchedule": [1000, 5000, 30000],
      "keysIfUndelivered": [
        ["failed-payments", "ord-123"],
        ["alerts", "payment-failure", "ord-123"]
      ]
    }
  }'""")
    prefix = "curl http://localhost:8000/keyval/api/keys?prefix="
    assert curl(prefix + "failed-payments") == []
    curl.exhaust(said["id"], NACK, retries=3)
    value = {"task": "process-payment", "orderId": "ord-123", "amount": 99.99}
    [found] = curl(prefix + "failed-payments")
    assert found == {
        "key": ["failed-payments", "ord-123"], "value": value, "updatedAt": found["updatedAt"]
    }  # fmt: skip
    [found] = curl(f"curl '{B}/keyval/api/keys?prefix=alerts&prefix=payment-failure'")
    assert found["key"] == ["alerts", "payment-failure", "ord-123"]


def test_failure_tracking(curl: Shell) -> None:
    said = curl("""curl -X POST http://localhost:8000/keyval/api/queue/enqueue \\
  -H "Content-Type: application/json" \\
  -d '{
    "value": {"type": "charge-card", "userId": "u-123", "amount": 49.99},
    "options": {
      "backoffSchedule": [5000, 30000, 120000],
      "keysIfUndelivered": [
        ["failed-charges", "u-123"],
        ["notifications", "admin", "charge-failed"]
      ]
    }
  }'""")
    curl.exhaust(said["id"], NACK, retries=3)
    [found] = curl("curl http://localhost:8000/keyval/api/keys?prefix=failed-charges")
    assert found["value"]["userId"] == "u-123"


def test_sse_streaming_as_it_is_on_the_wire(curl: Shell, gateway: Served) -> None:
    first = curl(SIMPLE)["id"]
    command = f"curl -N {B}/keyval/api/queue/listen".replace(B, gateway.url)
    with subprocess.Popen(
        [*command.replace("curl", "curl -sS").split()], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(7)]
        curl(SIMPLE.replace("send-email", "another"))
        while (line := process.stdout.readline()) in ("event: ping\n", "data:\n", "\n"):
            pass
        assert line == "event: message\n"
        process.terminate()
    value = '{"to":"user@example.com","task":"send-email"}'
    assert lines == [
        "event: message\n",
        f"id: {first}\n",
        f'data: {{"id":"{first}","value":{value},"attempts":1}}\n',
        "\n",
        "event: ping\n",
        "data:\n",
        "\n",
    ]


def test_worker_queue(curl: Shell, gateway: Served) -> None:
    with gateway.listen("/keyval/api/queue/listen") as stream:
        found = messages(stream)
        said = curl("""curl -X POST http://localhost:8000/keyval/api/queue/enqueue \\
  -H "Content-Type: application/json" \\
  -d '{
    "value": {"type": "resize-image", "imageId": "img-123", "width": 800},
    "options": {"backoffSchedule": [2000, 10000, 60000]}
  }'""")
        value = {"type": "resize-image", "imageId": "img-123", "width": 800}
        assert next(found) == {"id": said["id"], "value": value, "attempts": 1}
        assert curl(NACK, ID=said["id"]) == {"ok": True}
        assert 0 < (curl.wait(said["id"]) or 0) <= 2
        assert next(found) == {"id": said["id"], "value": value, "attempts": 2}
        assert curl(ACK, ID=said["id"]) == {"ok": True}
    assert curl(STATS)["total"] == 0


def test_scheduled_tasks(curl: Shell) -> None:
    said = curl("""curl -X POST http://localhost:8000/keyval/api/queue/enqueue \\
  -H "Content-Type: application/json" \\
  -d '{
    "value": {"type": "cleanup-expired-sessions"},
    "options": {"delay": 300000}
  }'""")
    assert 290 < (curl.wait(said["id"]) or 0) <= 300


def test_message_locking(curl: Shell, client: Client, gateway_dsn: str) -> None:
    said = curl(SIMPLE)
    curl(POLL)
    job = client.get_job(int(said["id"]))
    assert job.lease_until is not None
    assert job.claimed_at is not None
    assert job.lease_until - job.claimed_at == timedelta(seconds=30)
    with psycopg.connect(gateway_dsn, autocommit=True) as conn:
        conn.execute("update pgbaton.span set lease_until = clock_timestamp()")
    again = curl(POLL)["message"]
    assert (again["id"], again["attempts"]) == (said["id"], 2)


def test_dead_letters(curl: Shell, client: Client) -> None:
    said = curl(SIMPLE)
    curl.exhaust(said["id"], NACK.replace('"}', '", "errorMessage": "Connection timeout"}'), 3)
    [listed] = curl('curl "http://localhost:8000/keyval/api/queue/dlq?limit=50&offset=0"')
    job = client.get_dead_job(int(said["id"]))
    assert listed == {
        "id": said["id"],
        "originalId": said["id"],
        "value": {"task": "send-email", "to": "user@example.com"},
        "attempts": 4,
        "errorMessage": "Connection timeout",
        "originalCreatedAt": int(job.created_at.timestamp() * 1000),
        "failedAt": int(job.failed_at.timestamp() * 1000),
    }
    assert curl('curl "http://localhost:8000/keyval/api/queue/dlq?limit=50&offset=1"') == []
    one = "curl http://localhost:8000/keyval/api/queue/dlq/dlq-001"
    assert curl(one, dlq_001=said["id"]) == listed
    requeue = "curl -X POST http://localhost:8000/keyval/api/queue/dlq/dlq-001/requeue"
    requeued = curl(requeue, dlq_001=said["id"])
    assert requeued == {"ok": True, "newId": requeued["newId"]}
    assert requeued["newId"] != said["id"]
    assert curl(POLL)["message"]["id"] == requeued["newId"]
    assert curl(STATS)["dlq"] == 0

    for _ in range(3):
        curl.exhaust(curl(SIMPLE)["id"], NACK, 3)
    oldest = curl('curl "http://localhost:8000/keyval/api/queue/dlq?limit=1&offset=2"')[0]["id"]
    delete = "curl -X DELETE http://localhost:8000/keyval/api/queue/dlq/dlq-001"
    assert curl(delete, dlq_001=oldest) == {"ok": True}
    assert curl("curl -X DELETE http://localhost:8000/keyval/api/queue/dlq") == {"deletedCount": 2}
    assert curl(STATS)["dlq"] == 0


def settings_of(client: Client, queue: str) -> tuple[Any, ...]:
    [found] = [q for q in client.list_queues() if q.queue == queue]
    waits = [wait.total_seconds() for wait in found.backoff_schedule or []]
    return found.lease.total_seconds(), waits, found.max_attempts


def test_the_defaults_of_a_queue_that_serve_makes(client: Client, gateway_dsn: str) -> None:
    client.drop_queue("keyval", force=True)
    with serving(gateway_dsn, "--queue", "keyval"):
        assert settings_of(client, "keyval") == (30, [1, 5, 10], 4)
    other = ("--lock-duration", "5000", "--backoff-schedule", "2000,500")
    with serving(gateway_dsn, "--queue", "keyval", "--queue", "b-other", *other):
        assert settings_of(client, "keyval") == (30, [1, 5, 10], 4)
        assert settings_of(client, "b-other") == (5, [2, 0.5], 3)
    client.drop_queue("b-other")
