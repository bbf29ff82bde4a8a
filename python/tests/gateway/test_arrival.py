"""Requests that do not arrive, and answers that nobody reads: each ends, and others are served."""

from __future__ import annotations

import http.client
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from serving import Served, messages, serving, until

from pgbaton import Client

TIMEOUT = 1.5
"""--request-timeout of this gateway."""
SLACK = 10.0
"""Seconds more that a busy machine may take."""

HEAD = b"POST /keyval/api/queue/enqueue HTTP/1.1\r\nHost: localhost\r\n"
JSON = HEAD + b"Content-Type: application/json\r\n"
STATS = b"GET /keyval/api/queue/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"

HALVES = {
    "nothing": b"",
    "half a method": b"PO",
    "half a path": b"GET /keyval/api/que",
    "a line without its end": b"GET / HTTP/1.1",
    "no headers": b"GET / HTTP/1.1\r\n",
    "half the headers": HEAD,
    "a header without its end": HEAD + b"Content-Ty",
    "no body": JSON + b"Content-Length: 12\r\n\r\n",
    "half a body": JSON + b'Content-Length: 12\r\n\r\n{"value',
    "a body that waits for leave": JSON + b"Content-Length: 12\r\nExpect: 100-continue\r\n\r\n",
    "a length that nobody has": JSON + b"Content-Length: 1000000\r\n\r\n{",
    "no chunk": JSON + b"Transfer-Encoding: chunked\r\n\r\n",
    "half a chunk": JSON + b'Transfer-Encoding: chunked\r\n\r\n0c\r\n{"val',
    "no last chunk": JSON + b'Transfer-Encoding: chunked\r\n\r\n0b\r\n{"value":1}\r\n',
    "half a trailer": JSON + b'Transfer-Encoding: chunked\r\n\r\n0b\r\n{"value":1}\r\n0\r\nA: b',
    "a body for who reads none": STATS.replace(b"\r\n\r\n", b"\r\nContent-Length: 9\r\n\r\n"),
    "half a further request": STATS + b"GET /",
}
ANSWERED = {"a body for who reads none", "half a further request"}
"""A whole answer comes before the end."""


@pytest.fixture(scope="module")
def hasty(gateway_dsn: str) -> Iterator[Served]:
    with serving(
        gateway_dsn, "--queue", "keyval", "--request-timeout", str(TIMEOUT),
        "--cleanup-interval", "0", "--ping", "0.2",
    ) as served:  # fmt: skip
        yield served


def connected(served: Served) -> socket.socket:
    parts = urlsplit(served.url)
    found = socket.create_connection((str(parts.hostname), int(parts.port or 80)))
    found.settimeout(TIMEOUT + SLACK)
    return found


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side ends; one that was reset has ended too."""
    found = b""
    try:
        while part := connection.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


@contextmanager
def others_are_served(served: Served) -> Iterator[None]:
    """While the block runs somebody calls again and again; none of the calls waits for long."""
    ended = threading.Event()
    waits: list[float] = []

    def call() -> None:
        while not ended.is_set():
            before = time.monotonic()
            served.get("/keyval/api/queue/stats")
            waits.append(time.monotonic() - before)
            ended.wait(0.05)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield
        until(lambda: len(waits) > 3)
    finally:
        ended.set()
        thread.join()
    assert max(waits) < SLACK


@pytest.mark.parametrize("what", HALVES)
def test_half_a_request_ends_after_the_bounded_time(
    hasty: Served, client: Client, what: str
) -> None:
    total = client.queue_stats("keyval")[0].total
    with others_are_served(hasty), connected(hasty) as connection:
        before = time.monotonic()
        connection.sendall(HALVES[what])
        said = rest(connection)
        took = time.monotonic() - before
    assert TIMEOUT * 0.9 < took < TIMEOUT + SLACK
    if what in ANSWERED:
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    elif what == "nothing":
        assert said == b""
    else:
        assert b"HTTP/1.1 408" in said
        assert said.endswith(b"\r\n\r\nthe request did not arrive in time\n")
        assert b"connection: close" in said.lower()
    assert client.queue_stats("keyval")[0].total == total


@pytest.mark.parametrize(
    ("begun", "drop"),
    [
        (b"", b"G"),
        (HEAD, b"X-More: 1\r\n"),
        (HEAD + b"X-More: ", b"x"),
        (JSON + b"Content-Length: 100000\r\n\r\n", b" "),
        (JSON + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (STATS, b"G"),
    ],
)
def test_a_request_that_trickles_wins_no_time(hasty: Served, begun: bytes, drop: bytes) -> None:
    with others_are_served(hasty), connected(hasty) as connection:
        before = time.monotonic()
        connection.sendall(begun)
        assert trickled(connection, drop)
        assert time.monotonic() - before < TIMEOUT + SLACK


def trickled(connection: socket.socket, drop: bytes) -> bool:
    """Sends a little now and then until the other side ends; whether it did in time."""
    end = time.monotonic() + TIMEOUT + SLACK
    while time.monotonic() < end:
        try:
            connection.sendall(drop)
            if select.select([connection], [], [], 0.1)[0] and not connection.recv(1 << 16):
                return True
        except (ConnectionResetError, BrokenPipeError):
            return True
    return False


def test_hundreds_of_halves_keep_nobody_out(hasty: Served) -> None:
    halves = [half for half in HALVES.values() if half] * 15
    with ExitStack() as stack, others_are_served(hasty):
        connections = [stack.enter_context(connected(hasty)) for _ in halves]
        for connection, half in zip(connections, halves, strict=True):
            connection.sendall(half)
        assert all(b"HTTP/1.1" in rest(connection) for connection in connections)


def test_requests_that_arrive_are_not_hurried(hasty: Served, client: Client, queue: str) -> None:
    """Neither a stream that is open for longer, nor a connection that is used again."""
    parts = urlsplit(hasty.url)
    again = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=TIMEOUT + SLACK)
    again.connect()
    first = again.sock
    with hasty.listen(f"/{queue}/api/queue/listen") as stream, closing(again):
        end = time.monotonic() + 2 * TIMEOUT
        while time.monotonic() < end:
            again.request("GET", f"/{queue}/api/queue/stats")
            answer = again.getresponse()
            assert (answer.status, bool(answer.read())) == (200, True)
            assert again.sock is first
            assert next(stream).name == "ping"
            time.sleep(TIMEOUT / 4)
        client.enqueue_job(queue, "late")
        assert next(messages(stream))["value"] == "late"


def test_a_slow_reader_of_a_stream_keeps_nobody_waiting(
    hasty: Served, client: Client, queue: str
) -> None:
    """It gets a little now and then; who reads gets all the rest meanwhile."""
    client.enqueue_batch(queue, ["x" * 300_000] * 30)
    path = f"/{queue}/api/queue/listen"
    with connected(hasty) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(f"GET {path}?capacity=10 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 200 OK")
        until(lambda: client.live_stats(queue)[0].processing == 10)
        with others_are_served(hasty), hasty.listen(f"{path}?capacity=20") as stream:
            found = messages(stream)
            for _ in range(20):
                message = next(found)
                hasty.post(f"/{queue}/api/queue/ack", {"id": message["id"]})
                slow.recv(100)
    until(lambda: client.live_stats(queue)[0].processing == 0)
    assert hasty.get(f"/{queue}/api/queue/stats")["pending"] == 10


@pytest.mark.proof
@pytest.mark.timeout(180)
def test_a_long_answer_that_nobody_reads_ends(hasty: Served, client: Client, queue: str) -> None:
    """Half a minute after the last byte was taken, by the kernel."""
    client.enqueue_batch(queue, ["x" * 500_000] * 30)
    for job in client.claim_job_batch("w", [queue], batch_size=30):
        client.fail_job(job.id, "no", job.lease_token, retryable=False)
    with connected(hasty) as deaf:
        deaf.sendall(f"GET /{queue}/api/queue/dlq HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        with others_are_served(hasty):
            until(lambda: not is_open(hasty, deaf), seconds=120)


def is_open(served: Served, connection: socket.socket) -> bool:
    """Whether the gateway still has its side of a connection."""
    ours = f"{connection.getsockname()[1]:04X}"
    table = Path(f"/proc/{served.process.pid}/net/tcp").read_text()
    rows = [line.split() for line in table.splitlines()[1:]]
    # Established, or with data that was not taken.
    return any(row[2].endswith(f":{ours}") and row[3] in ("01", "04", "05", "09") for row in rows)
