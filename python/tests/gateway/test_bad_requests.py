"""Requests that are wrong, and the answers that docs/http.md promises."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from serving import Served

from pgbaton import Client


@pytest.fixture
def path(queue: str) -> str:
    return f"/{queue}/api/queue"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"value": NaN}',
        b'{"value": 1, "more": 2}',
        b'{"options": {}}',
        b'{"value": 1, "options": []}',
        b'{"value": 1, "options": {"delay": "1"}}',
        b'{"value": 1, "options": {"delay": -1}}',
        b'{"value": 1, "options": {"delay": 1e400}}',
        b'{"value": 1, "options": {"delay": true}}',
        b'{"value": 1, "options": {"delay": 99999999999999}}',
        b'{"value": 1, "options": {"backoffSchedule": 1}}',
        b'{"value": 1, "options": {"backoffSchedule": ["1"]}}',
        b'{"value": 1, "options": {"keysIfUndelivered": [[1]]}}',
        b'{"value": 1, "options": {"keysIfUndelivered": ["a"]}}',
        b'{"value": 1, "options": {"keysIfUndelivered": [[]]}}',
        b'{"value": 1, "options": {"priority": 1.5}}',
        b'{"value": 1, "options": {"priority": 2147483648}}',
        b'{"value": 1, "options": {"tags": ["a", 1]}}',
        b'{"value": 1, "options": {"singletonKey": 1}}',
        b'{"value": 1, "options": {"lockDuration": 1}}',
        b'{"value": "\\u0000"}',
        b'{"value": "\\ud800"}',
        b'{"value": 1}\xff',
        b"[" * 100_000,
    ],
)
def test_a_body_that_says_something_else(gateway: Served, path: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    assert gateway.status("POST", f"{path}/enqueue", content=body, headers=headers) == 400
    assert gateway.get(f"{path}/stats")["total"] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tags": ["a", 1]}, "entry 2 of tags is not a string"),
        ({"tags": ["a", "b", None]}, "entry 3 of tags is not a string"),
        ({"tags": ["a", ""]}, "tag 2 is empty or longer than 255 bytes"),
        ({"tags": ["a", "b", "x" * 256]}, "tag 3 is empty or longer than 255 bytes"),
        ({"tags": "a"}, "tags is not a list"),
        ({"backoffSchedule": [1, 2.5]}, "entry 2 of backoffSchedule is not a whole number"),
        ({"backoffSchedule": [0, 1, -1]}, "entry 3 of backoffSchedule is not a whole number"),
        ({"backoffSchedule": [True]}, "entry 1 of backoffSchedule is not a whole number"),
        ({"keysIfUndelivered": [["a"], "b"]}, "entry 2 of keysIfUndelivered is not a list"),
        (
            {"keysIfUndelivered": [["a"], ["b", 1]]},
            "entry 2 of entry 2 of keysIfUndelivered is not a string",
        ),
        ({"keysIfUndelivered": [["a"], ["b"], []]}, "entry 3 is none"),
        ({"keysIfUndelivered": [["a" * 1100]]}, "entry 1 is none"),
    ],
)
def test_of_a_list_the_answer_names_the_entry(
    gateway: Served, path: str, options: dict[str, Any], said: str
) -> None:
    answer = gateway.ask("POST", f"{path}/enqueue", json={"value": 1, "options": options})
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert gateway.get(f"{path}/stats")["total"] == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"id": 1}, 400),
        ({"id": None}, 400),
        ({"id": "01J9X3K2M5N7P8Q9R0S1T2V3W4"}, 404),
        ({"id": "99999999999999999999"}, 404),
        ({"id": "999999999999"}, 404),
        ({"id": "1", "more": 1}, 400),
        ({"id": "1", "leaseToken": 1}, 400),
    ],
)
def test_an_acknowledgement_of_nothing(
    gateway: Served, path: str, body: dict[str, Any], status: int
) -> None:
    assert gateway.status("POST", f"{path}/ack", json=body) == status
    assert gateway.status("POST", f"{path}/nack", json=body) == status


def test_acknowledged_twice(gateway: Served, client: Client, path: str, queue: str) -> None:
    client.enqueue_job(queue)
    got = gateway.get(f"{path}/poll")["message"]["id"]
    gateway.post(f"{path}/ack", {"id": got})
    assert gateway.status("POST", f"{path}/ack", json={"id": got}) == 409
    assert gateway.status("POST", f"{path}/nack", json={"id": got}) == 409


def test_only_json_is_read(gateway: Served, path: str) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = {"Content-Type": kind}
        where = f"{path}/enqueue"
        assert gateway.status("POST", where, content=b'{"value": 1}', headers=headers) == 415


@pytest.mark.parametrize(
    ("method", "where", "allowed"),
    [
        ("GET", "enqueue", {"POST"}),
        ("DELETE", "ack", {"POST"}),
        ("POST", "poll", {"GET", "HEAD"}),
        ("PUT", "stats", {"GET", "HEAD"}),
        ("PATCH", "listen", {"GET", "HEAD"}),
    ],
)
def test_another_method(
    gateway: Served, path: str, method: str, where: str, allowed: set[str]
) -> None:
    answer = gateway.ask(method, f"{path}/{where}")
    assert answer.status_code == 405
    assert answer.json()["ok"] is False
    assert set(answer.headers["allow"].split(", ")) == allowed


def test_head_opens_no_stream(gateway: Served, client: Client, path: str, queue: str) -> None:
    client.enqueue_job(queue)
    assert gateway.ask("HEAD", f"{path}/listen").status_code == 200
    assert client.live_stats(queue)[0].pending == 1


@pytest.mark.parametrize("query", ["limit=-1", "limit=x", "limit=1001", "offset=1e3", "limit="])
def test_a_query_out_of_range(gateway: Served, path: str, query: str) -> None:
    assert gateway.status("GET", f"{path}/dlq?{query}") == 400


def test_a_capacity_out_of_range(gateway: Served, path: str) -> None:
    for capacity in ("0", "101", "x", "-1"):
        assert gateway.status("GET", f"{path}/listen?capacity={capacity}") == 400


def test_unknown_paths_queues_and_messages(gateway: Served, path: str) -> None:
    for where in (
        "/no",
        "/static/../_app.py",
        "/static/%2e%2e/_app.py",
        "/no/api/queue/stats",
        f"{path}/dlq/1x",
        f"{path}/dlq/999999999999",
        f"{path}/dlq/%00",
    ):
        assert gateway.status("GET", where) == 404
    assert gateway.status("GET", "/%00/api/queue/stats") == 400


def test_an_oversized_body(guarded: Served, path: str) -> None:
    shop = guarded.of("shop")
    headers = {"Content-Type": "application/json"}
    large = b'{"value": "' + b"x" * 10_000 + b'"}'
    where = f"{path}/enqueue"
    assert shop.status("POST", where, content=large, headers=headers) == 413
    in_chunks = iter([large[:5000], large[5000:9000], large[9000:]])
    assert shop.status("POST", where, content=in_chunks, headers=headers) == 413
    assert shop.json("POST", where, content=large[:9000] + b'"}', headers=headers)["ok"]


def test_what_is_no_http_at_all(gateway: Served, path: str) -> None:
    host, port = gateway.url.removeprefix("http://").split(":")
    for said in (b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/x\r\n\r\n"):
        with socket.create_connection((host, int(port))) as conn:
            conn.sendall(said)
            assert conn.recv(1000).startswith(b"HTTP/1.1 400")
    assert gateway.get(f"{path}/stats")["total"] == 0


def test_a_message_that_replaces_another_one(gateway: Served, path: str) -> None:
    def put(value: int, **options: Any) -> dict[str, Any]:
        given = {"dedupId": "d", "onDuplicate": "replace"} | options
        answer: dict[str, Any] = gateway.post(f"{path}/enqueue", {"value": value, "options": given})
        return answer

    assert put(1)["outcome"] == "enqueued"
    second = put(2)
    assert second["outcome"] == "replaced"
    polled = gateway.get(f"{path}/poll")["message"]
    assert (polled["id"], polled["value"]) == (second["id"], 2)
    third = put(3, debounce=60_000, maxWait=120_000)
    assert third["outcome"] == "behind"
    assert gateway.get(f"{path}/poll")["message"] is None
    assert put(4, onDuplicate="skip") == {"ok": True, "id": third["id"], "outcome": "duplicate"}
    for options in (
        {"debounce": 5, "maxWait": 5},
        {"debounce": 0},
        {"onDuplicate": "never"},
        {"dedupId": None},
    ):
        body = {"value": 5, "options": {"dedupId": "d", "onDuplicate": "replace"} | options}
        assert gateway.status("POST", f"{path}/enqueue", json=body) == 400
    body = {"value": 5, "options": {"dedupId": "d", "onDuplicate": "error"}}
    assert gateway.status("POST", f"{path}/enqueue", json=body) == 409


def test_no_message_beside_one_that_runs(gateway: Served, client: Client, queue: str) -> None:
    name = f"{queue} x"
    client.create_queue(name, "exclusive")
    options = {"onDuplicate": "replace"}
    path = f"/{name}/api/queue"
    assert gateway.post(f"{path}/enqueue", {"value": 1, "options": options})["ok"] is True
    assert gateway.get(f"{path}/poll")["message"]["value"] == 1
    body = {"value": 2, "options": options}
    assert gateway.status("POST", f"{path}/enqueue", json=body) == 409
    client.drop_queue(name, force=True)
