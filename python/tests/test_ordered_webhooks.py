"""examples/ordered_webhooks.py delivers in order, and notices when it does not."""

from __future__ import annotations

import importlib.util
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from psql_pages import run, steps

from pgbaton import Client, Fail, Retry, _assemble

ROOT = _assemble.source_root()
EXAMPLE = ROOT / "examples" / "ordered_webhooks.py"
KEYS_OF_MANY = ["ann/order 17", "bob/order 17"]
PAGE = ROOT / "docs" / "webhooks.md"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("ordered_webhooks", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def test_every_event_arrives_in_order(
    dsn: str, example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = example.run(dsn)
    assert example.is_right(figures)
    assert (figures["events"], figures["deliveries"], figures["given up"]) == (60, 84, 1)
    assert figures["retries"] == figures["failures"] - 1 > 20
    lines = capsys.readouterr().out.splitlines()
    assert sum("  attempt " in line for line in lines) == figures["attempts"]
    billed = [line.split()[2] for line in lines if line.startswith("billing    order-1 ")]
    assert list(dict.fromkeys(billed)) == example.STEPS
    shown = PAGE.read_text("utf-8")
    for name in ("events", "deliveries", "accepted", "given up", "lost", "order violations"):
        assert f"\n{name:17}{figures[name]:4}\n" in shown
    many, said = run(dsn, steps(PAGE))
    assert "ERROR" not in many
    with Client(dsn) as client:
        assert [s.singleton_key for s in client.fifo_stats("webhooks")] == KEYS_OF_MANY
    assert "order-7 " in said
    assert "status 422" in said
    assert "ERROR" not in said


def test_the_guide_shows_the_example() -> None:
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(shown) == 6
    source = without_indents(EXAMPLE.read_text("utf-8"))
    for part in shown:
        assert without_indents(part) in source


def without_indents(code: str) -> str:
    return re.sub(r"^ +", "", code, flags=re.MULTILINE)


def test_keys_that_keep_nothing_in_order_are_noticed(
    dsn: str, example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KeyOfEachEvent(Client):
        def publish(self, topic: str, payload: Any, singleton_key: Any) -> list[int]:
            return super().publish(topic, payload, f"{singleton_key} {topic}")

    monkeypatch.setattr(example, "Client", KeyOfEachEvent)
    figures = example.run(dsn)
    assert figures["order violations"] > 0
    assert not example.is_right(figures)


@dataclass
class Answering:
    """A receiver that gives one answer."""

    status: int
    headers: dict[str, str]

    @contextmanager
    def port(self) -> Iterator[int]:
        answer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            yield server.server_port
            server.shutdown()


def delivered(example: ModuleType, status: int, **headers: str) -> Any:
    """What the handler returns or raises for an answer."""
    job = SimpleNamespace(
        id=1, attempt=1, queue="billing", singleton_key="order-1", payload={"step": "paid"}
    )
    with Answering(status, headers).port() as port:
        try:
            return example.Deliveries({"billing": port}).deliver(job)
        except Exception as error:
            return error


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_a_success(example: ModuleType, status: int) -> None:
    assert delivered(example, status) == {"status": status}


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_what_is_for_now_comes_again(example: ModuleType, status: int) -> None:
    raised = delivered(example, status)
    assert type(raised) is Retry
    assert raised.after is None


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 409, 410, 422, 451])
def test_what_would_be_the_same_again_is_given_up(example: ModuleType, status: int) -> None:
    assert type(delivered(example, status)) is Fail


def test_a_receiver_says_how_long_to_wait(example: ModuleType) -> None:
    assert delivered(example, 429, **{"Retry-After": "7"}).after == timedelta(seconds=7)
    assert delivered(example, 503, **{"Retry-After": "7"}).after == timedelta(seconds=7)


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("", None),
        ("soon", None),
        ("-5", None),
        ("0", timedelta(0)),
        ("999999999999999", timedelta(hours=1)),
        ("Fri, 01 Jan 2038 00:00:00 GMT", timedelta(hours=1)),
        ("Fri, 01 Jan 2010 00:00:00 GMT", timedelta(0)),
        ("Fri, 01 Jan 2010 00:00:00", None),
    ],
)
def test_what_retry_after_says(example: ModuleType, said: str, wait: timedelta | None) -> None:
    assert example.wait_of(said) == wait


@pytest.mark.parametrize(
    ("arrivals", "violations"),
    [
        ([(1, 200), (2, 200), (4, 200)], 0),
        ([(1, 503), (1, None), (1, 200), (2, 422), (3, 200)], 0),
        ([(1, 503), (2, 200)], 1),
        ([(1, None), (2, 503), (1, 200), (2, 200)], 2),
        ([(2, 200), (1, 200)], 1),
    ],
)
def test_what_is_out_of_order(
    example: ModuleType, arrivals: list[tuple[int, int | None]], violations: int
) -> None:
    assert example.order_violations([example.Arrival(*a) for a in arrivals]) == violations


def test_what_is_not_right(example: ModuleType) -> None:
    right = {"accepted": 2, "given up": 1, "deliveries": 3, "lost": 0, "order violations": 0}
    assert example.is_right(right)
    for wrong in ({"accepted": 1}, {"lost": 1}, {"order violations": 1}):
        assert not example.is_right(right | wrong)
