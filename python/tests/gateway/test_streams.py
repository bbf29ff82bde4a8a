"""Streams: what a reader holds, for how long, and what becomes of it."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from itertools import islice
from typing import Any

import psycopg
import pytest
from serving import Served, database, messages, serving, until

from pgbaton import Client, JobState


@pytest.fixture
def path(queue: str) -> str:
    return f"/{queue}/api/queue"


def states(client: Client, ids: list[int]) -> list[JobState]:
    return [client.get_job(job_id).state for job_id in ids]


def test_a_reader_holds_no_more_than_its_capacity(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    ids = client.enqueue_batch(queue, range(20))
    with gateway.listen(f"{path}/listen?capacity=3") as stream:
        found = messages(stream)
        got = [next(found)["id"] for _ in range(3)]
        assert got == [str(job_id) for job_id in ids[:3]]
        ping = next(event for event in stream if event.name == "ping")  # no fourth one
        assert (ping.id, ping.data) == (None, None)
        assert client.live_stats(queue)[0].processing == 3
        gateway.post(f"{path}/ack", {"id": got[1]})
        assert next(found)["id"] == str(ids[3])
        gateway.post(f"{path}/nack", {"id": got[0]})
        assert next(found)["id"] == str(ids[4])
        assert client.live_stats(queue)[0].processing == 3


def test_who_does_not_read_holds_no_more_either(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    """The messages are larger than all buffers between."""
    client.enqueue_batch(queue, ["x" * 500_000] * 30)
    host, port = gateway.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(f"GET {path}/listen?capacity=20 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until(lambda: client.live_stats(queue)[0].processing == 20)
        with gateway.listen(f"{path}/listen?capacity=10") as stream:
            found = messages(stream)
            assert len({next(found)["id"] for _ in range(10)}) == 10
            # Some may be of the first claim, when its answer came after both had begun.
            until(lambda: client.live_stats(queue)[0].processing == 30)
            assert client.live_stats(queue)[0].pending == 0
    until(lambda: client.live_stats(queue)[0].processing == 0)


@pytest.mark.proof
def test_who_reads_nothing_is_cut_off(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    client.enqueue_batch(queue, ["x" * 500_000] * 30)
    host, port = gateway.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as deaf:
        deaf.sendall(f"GET {path}/listen?capacity=20 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until(lambda: client.live_stats(queue)[0].processing == 20)
        until(lambda: client.live_stats(queue)[0].processing == 0, seconds=90)
        deaf.settimeout(30)
        while deaf.recv(1 << 20):
            pass


def test_all_streams_get_some(gateway: Served, client: Client, queue: str, path: str) -> None:
    with (
        gateway.listen(f"{path}/listen?capacity=5") as one,
        gateway.listen(f"{path}/listen?capacity=5") as two,
    ):
        client.enqueue_batch(queue, range(10))
        first, second = messages(one), messages(two)
        got = [{next(found)["id"] for _ in range(5)} for found in (first, second)]
        assert len(got[0] | got[1]) == 10


def test_one_connection_listens_for_all_streams(server_dsn: str, template: str) -> None:
    """In a database of its own, where no other gateway listens."""
    with database(server_dsn, template, "one_listener") as dsn, serving(dsn) as gateway:
        with Client(dsn) as client:
            client.create_queue("first")
            client.create_queue("second")
        with psycopg.connect(dsn, autocommit=True) as conn:

            def listeners() -> int:
                [(number,)] = conn.execute(
                    "select count(*) from pg_stat_activity where datname = current_database()"
                    " and application_name = 'pgbaton listener'"
                ).fetchall()
                return int(number)

            with (
                gateway.listen("/first/api/queue/listen") as one,
                gateway.listen("/first/api/queue/listen") as two,
                gateway.listen("/second/api/queue/listen") as three,
            ):
                assert {next(stream).name for stream in (one, two, three)} == {"ping"}
                until(lambda: listeners() == 1)  # for a moment two, should it be replaced


def test_what_was_not_acknowledged_goes_back_when_the_stream_ends(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    ids = client.enqueue_batch(queue, range(4))
    with gateway.listen(f"{path}/listen?capacity=3") as stream:
        got = [next(messages(stream)) for _ in range(3)]
        assert [message["attempts"] for message in got] == [1, 1, 1]
        gateway.post(f"{path}/ack", {"id": got[0]["id"]})
    until(lambda: client.live_stats(queue)[0].processing == 0)
    with gateway.listen(f"{path}/listen?capacity=3", headers={"Last-Event-ID": got[2]["id"]}) as s:
        again = [next(messages(s)) for _ in range(3)]
    assert [message["id"] for message in again] == [str(job_id) for job_id in ids[1:]]
    assert [message["attempts"] for message in again] == [1, 1, 1]


def test_a_message_that_ends_its_streams_costs_attempts_at_last(
    gateway: Served, client: Client, queue: str, path: str, gateway_dsn: str
) -> None:
    job_id = client.enqueue_job(queue, "poison")
    for _ in range(3):
        with gateway.listen(f"{path}/listen") as stream:
            assert next(messages(stream))["attempts"] == 1
        until(lambda: client.live_stats(queue)[0].processing == 0)
    with gateway.listen(f"{path}/listen") as stream:
        assert next(messages(stream))["attempts"] == 1
    with gateway.listen(f"{path}/listen") as stream:
        assert next(stream).name == "ping"
        assert client.get_job(job_id).state == JobState.ACTIVE
        with psycopg.connect(gateway_dsn, autocommit=True) as conn:
            conn.execute(
                "update pgbaton.span set lease_until = clock_timestamp() where lo = %s", [job_id]
            )
        client.claim_job_batch("who takes ended leases back", [queue], ["none of these"])
        assert next(messages(stream))["attempts"] == 2


def test_leases_are_extended_while_the_stream_lives(
    gateway: Served, client: Client, gateway_dsn: str
) -> None:
    name = f"short{uuid.uuid4().hex[:8]}"
    client.create_queue(name, lease="3 seconds")
    job_id = client.enqueue_job(name)
    with gateway.listen(f"/{name}/api/queue/listen") as stream:
        next(messages(stream))
        first = client.get_job(job_id).lease_until
        assert first is not None
        until(lambda: (client.get_job(job_id).lease_until or first) > first)
        assert client.get_job(job_id).attempt == 1


def test_a_job_that_others_ended_leaves_room(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    client.update_queue(queue, lease="3 seconds")
    first, second = client.enqueue_batch(queue, range(2))
    with gateway.listen(f"{path}/listen?capacity=1") as stream:
        assert next(messages(stream))["id"] == str(first)
        client.complete_job(first)
        assert next(messages(stream))["id"] == str(second)


def test_cancellation_is_told_and_acknowledged(
    gateway: Served, client: Client, path: str, queue: str
) -> None:
    acknowledged, left = client.enqueue_batch(queue, range(2))
    with gateway.listen(f"{path}/listen") as stream:
        [next(messages(stream)) for _ in range(2)]
        client.cancel_jobs(job_ids=[acknowledged, left])
        told = islice((event for event in stream if event.name == "cancel"), 2)
        assert {event.data["id"] for event in told} == {str(acknowledged), str(left)}
        gateway.post(f"{path}/nack", {"id": str(acknowledged)})
        assert states(client, [acknowledged]) == [JobState.STOPPED]
    until(lambda: states(client, [left]) == [JobState.STOPPED])


def cancel(client: Client, message: dict[str, Any]) -> int:
    """As soon as the reader has it: long before the next heartbeat says so to the gateway."""
    job_id = int(message["id"])
    assert client.cancel_jobs(job_ids=[job_id]).cancelled_job_ids == [job_id]
    return job_id


def test_a_message_that_is_cancelled_as_its_stream_ends_is_stopped_at_once(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    """It would keep its key until the lease ends."""
    client.enqueue_job(queue)
    with gateway.listen(f"{path}/listen") as stream:
        job_id = cancel(client, next(messages(stream)))
    until(lambda: client.get_job(job_id).state == "stopped", 5)


def test_a_message_that_is_rejected_as_it_is_cancelled_is_stopped_at_once(
    gateway: Served, client: Client, queue: str, path: str
) -> None:
    client.enqueue_batch(queue, [1, 2])
    with gateway.listen(f"{path}/listen?capacity=1") as stream:
        found = messages(stream)
        job_id = cancel(client, next(found))
        gateway.post(f"{path}/nack", {"id": str(job_id)})
        assert client.get_job(job_id).state == "stopped"
        assert gateway.status("POST", f"{path}/nack", json={"id": str(job_id)}) == 409
        assert next(found)["value"] == 2


def test_a_fifo_queue_keeps_the_order_of_a_key(gateway: Served, client: Client) -> None:
    name = f"fifo{uuid.uuid4().hex[:8]}"
    client.create_fifo_queue(name, retry_delay="0")
    path = f"/{name}/api/queue"
    for key, value in (("a", 1), ("a", 2), ("b", 3)):
        gateway.post(f"{path}/enqueue", {"value": value, "options": {"singletonKey": key}})
    with gateway.listen(f"{path}/listen") as stream:
        found = messages(stream)
        first, other = next(found), next(found)
        assert (first["value"], other["value"]) == (1, 3)
        gateway.post(f"{path}/nack", {"id": first["id"]})
        first = next(found)
        assert (first["value"], first["attempts"]) == (1, 2)
        gateway.post(f"{path}/ack", {"id": first["id"]})
        assert next(found)["value"] == 2
    assert gateway.status("POST", f"{path}/enqueue", json={"value": 1}) == 400


def test_a_stale_token_acknowledges_nothing(
    gateway: Served, client: Client, queue: str, path: str, gateway_dsn: str
) -> None:
    client.enqueue_job(queue)
    old = gateway.get(f"{path}/poll?leaseToken=true")["message"]
    with psycopg.connect(gateway_dsn, autocommit=True) as conn:
        conn.execute(
            "update pgbaton.span set lease_until = clock_timestamp() where lo = %s", [old["id"]]
        )
    new = gateway.get(f"{path}/poll?leaseToken=true")["message"]
    assert new["id"] == old["id"]
    body = {"id": old["id"], "leaseToken": old["leaseToken"]}
    for call in ("ack", "nack"):
        assert gateway.status("POST", f"{path}/{call}", json=body) == 409
    assert gateway.post(f"{path}/ack", {"id": new["id"], "leaseToken": new["leaseToken"]})
    assert gateway.status("POST", f"{path}/ack", json={"id": new["id"]}) == 409


def test_a_queue_that_is_dropped_ends_its_streams(gateway: Served, client: Client) -> None:
    name = f"gone{uuid.uuid4().hex[:8]}"
    client.create_queue(name)
    with gateway.listen(f"/{name}/api/queue/listen") as stream:
        assert next(stream).name == "ping"
        client.enqueue_job(name)
        assert next(messages(stream))
        client.drop_queue(name, force=True)
        assert {event.name for event in stream} <= {"ping"}
    assert gateway.status("GET", f"/{name}/api/queue/listen") == 404


def test_stopping_the_gateway_gives_everything_back(
    client: Client, gateway_dsn: str, queue: str, path: str
) -> None:
    ids = client.enqueue_batch(queue, range(3))
    with serving(gateway_dsn) as other:
        with other.listen(f"{path}/listen") as stream:
            [next(messages(stream)) for _ in ids]
            other.process.terminate()
            assert not list(messages(stream))
        other.process.wait()
        assert states(client, ids) == [JobState.RETRY] * 3


def test_streams_outlive_a_lost_database_connection(
    make_database: Callable[[str], str], template: str
) -> None:
    """In a database of its own: other gateways keep their connections."""
    dsn = make_database(template)
    with Client(dsn) as client, serving(dsn) as other:
        client.create_queue("q")
        with other.listen("/q/api/queue/listen?capacity=1") as stream:
            job_id = client.enqueue_job("q")
            assert next(messages(stream))["id"] == str(job_id)
            other.post("/q/api/queue/ack", {"id": str(job_id)})
            with psycopg.connect(dsn, autocommit=True) as conn:
                conn.execute(
                    "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                    " where pid <> pg_backend_pid() and datname = current_database()"
                    " and application_name in ('pgbaton serve', 'pgbaton listener')"
                )
            job_id = client.enqueue_job("q")
            assert next(messages(stream))["id"] == str(job_id)


def test_cleanup_interval(client: Client, gateway_dsn: str, queue: str) -> None:
    """Of a schedule that is due: with an interval it runs, with 0 it does not."""
    client.create_schedule("due", queue, "* * * * *")
    make_due = "update pgbaton.schedule set next_run_at = now() - interval '1 second'"
    with psycopg.connect(gateway_dsn, autocommit=True) as conn:
        conn.execute(make_due)
        with serving(gateway_dsn, "--cleanup-interval", "0") as other:
            assert other.get(f"/{queue}/api/queue/stats")["total"] == 0
        assert client.live_stats(queue)[0].pending == 0
        with serving(gateway_dsn, "--cleanup-interval", "100") as other:
            until(lambda: other.get(f"/{queue}/api/queue/stats")["total"] == 1)
            conn.execute(make_due)
            until(lambda: other.get(f"/{queue}/api/queue/stats")["total"] == 2)
    client.drop_schedule("due")
