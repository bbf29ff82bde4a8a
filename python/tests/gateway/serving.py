"""A gateway in a process of its own, and readers of its streams."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any

import httpx
import psycopg
from psycopg.conninfo import make_conninfo

# A cleanup would come between.
QUICK = ("--cleanup-interval", "0", "--ping", "0.5", "--refresh", "0.3")


@dataclass
class Event:
    name: str
    id: str | None
    data: Any


@dataclass
class Served:
    """The address of a gateway, and calls to it."""

    url: str
    process: subprocess.Popen[str]
    http: httpx.Client
    headers: dict[str, str] = field(default_factory=dict)

    def of(self, token: str) -> Served:
        return Served(self.url, self.process, self.http, {"Authorization": f"Bearer {token}"})

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = self.headers | more.pop("headers", {})
        return self.http.request(method, self.url + path, headers=headers, **more)

    def get(self, path: str, **more: Any) -> Any:
        return self.json("GET", path, **more)

    def post(self, path: str, body: Any = None) -> Any:
        return self.json("POST", path, json={} if body is None else body)

    def json(self, method: str, path: str, **more: Any) -> Any:
        """The body of an answer that must be 200."""
        answer = self.ask(method, path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def status(self, method: str, path: str, **more: Any) -> int:
        """The status of a refusal, which says why."""
        answer = self.ask(method, path, **more)
        body = answer.json()
        assert body["ok"] is False
        assert body["error"]
        return answer.status_code

    @contextmanager
    def listen(self, path: str, **more: Any) -> Iterator[Iterator[Event]]:
        """The events of a stream."""
        headers = self.headers | more.pop("headers", {})
        with self.http.stream("GET", self.url + path, headers=headers, **more) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield events(answer.iter_lines())


def events(lines: Iterator[str]) -> Iterator[Event]:
    found: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            found[name] = value.removeprefix(" ")
        elif found:
            data = json.loads(found["data"]) if found.get("data") else None
            yield Event(found["event"], found.get("id"), data)
            found = {}


def messages(stream: Iterator[Event]) -> Iterator[dict[str, Any]]:
    """Without the pings."""
    return (event.data for event in stream if event.name == "message")


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """What it says once it is true."""
    give_up = monotonic() + seconds
    while monotonic() < give_up:
        if found := condition():
            return found
        sleep(0.01)
    raise AssertionError("it never became true")


@contextmanager
def database(server_dsn: str, template: str, purpose: str) -> Iterator[str]:
    """A copy of the template until the block ends."""
    name = f"{template}_{purpose}"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}".encode())
        try:
            yield make_conninfo(server_dsn, dbname=name)
        finally:
            admin.execute(f"drop database {name} with (force)".encode())


@contextmanager
def serving(dsn: str, *arguments: str) -> Iterator[Served]:
    """`pgbaton serve` until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pgbaton.cli", "serve", "--dsn", dsn, "--port", "0", *arguments],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("http://"):
                break
        else:
            raise AssertionError("".join(said))
        try:
            # A connection for each request: the gateway ends idle ones when it likes.
            limits = httpx.Limits(max_keepalive_connections=0)
            with httpx.Client(timeout=30, limits=limits) as http:
                yield Served(line.strip().rstrip("/"), process, http)
        finally:
            process.terminate()
            rest = process.stderr.read()
    assert process.returncode == 0, rest
    assert "Traceback" not in rest, rest
