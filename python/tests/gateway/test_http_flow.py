"""Over HTTP: messages that wait for others, and limits."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from serving import Served

from pgbaton import Client
from pgbaton.http import _state, _watch
from pgbaton.http._settings import Settings

NONE = dict.fromkeys(
    (
        "maxRunning",
        "keyLimit",
        "rateCount",
        "rateInterval",
        "rateBurst",
        "keyRateCount",
        "keyRateInterval",
        "keyRateBurst",
        "running",
        "nextStartAt",
    )
)


@pytest.fixture
def path(queue: str) -> str:
    return f"/{queue}/api/queue"


def put(gateway: Served, path: str, **options: Any) -> str:
    return str(gateway.post(f"{path}/enqueue", {"value": 1, "options": options})["id"])


def polled(gateway: Served, path: str) -> str | None:
    message = gateway.get(f"{path}/poll")["message"]
    return message and str(message["id"])


def set_limits(gateway: Served, path: str, **limits: Any) -> dict[str, Any]:
    found: dict[str, Any] = gateway.json("PUT", f"{path}/limits", json=limits)
    return found


# Messages that wait for others -----------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"dedupId": "d", "onDuplicate": "skip"}])
def test_a_message_waits_for_others(
    gateway: Served, client: Client, path: str, more: dict[str, str]
) -> None:
    client.create_queue("elsewhere")
    parents = [put(gateway, path), put(gateway, "/elsewhere/api/queue")]
    child = put(gateway, path, after=parents, **more)
    assert polled(gateway, path) == parents[0]
    assert polled(gateway, "/elsewhere/api/queue") == parents[1]
    gateway.post(f"{path}/ack", {"id": parents[0]})
    assert polled(gateway, path) is None
    gateway.post("/elsewhere/api/queue/ack", {"id": parents[1]})
    assert polled(gateway, path) == child
    client.drop_queue("elsewhere", force=True)


@pytest.mark.parametrize(
    ("on_failed", "state"), [("wait", None), ("cancel", "unscheduled"), ("run", "active")]
)
def test_one_that_it_waits_for_fails(
    gateway: Served, client: Client, path: str, on_failed: str, state: str | None
) -> None:
    parent = put(gateway, path, backoffSchedule=[])
    child = put(gateway, path, after=[parent], onFailed=on_failed)
    assert polled(gateway, path) == parent
    gateway.post(f"{path}/nack", {"id": parent, "errorMessage": "no"})
    assert polled(gateway, path) == (child if on_failed == "run" else None)
    assert client.get_job(int(child)).state == (state or "pending")


@pytest.mark.parametrize(
    ("options", "status", "error"),
    [
        ({"after": ["999999999"]}, 404, "999999999"),
        ({"after": ["x"]}, 404, "there is no message 'x'"),
        ({"after": [1]}, 400, "entry 1 of after is not a string"),
        ({"after": "1"}, 400, "after is not a list"),
        ({"onFailed": "never"}, 400, "never"),
        ({"onFailed": 1}, 400, "onFailed is not a string"),
    ],
)
def test_what_is_wrong_with_them(
    gateway: Served, path: str, options: dict[str, Any], status: int, error: str
) -> None:
    answer = gateway.ask("POST", f"{path}/enqueue", json={"value": 1, "options": options})
    assert answer.status_code == status
    assert error in answer.json()["error"]


# Limits ----------------------------------------------------------------------------------------


def test_limits_are_set_shown_and_removed(gateway: Served, path: str) -> None:
    assert gateway.get(f"{path}/limits") == NONE
    wanted = {"maxRunning": 1, "rateCount": 60, "rateInterval": 60_000, "rateBurst": 10}
    assert set_limits(gateway, path, **wanted) == NONE | wanted | {"running": 0}
    first, _ = put(gateway, path), put(gateway, path)
    assert [polled(gateway, path), polled(gateway, path)] == [first, None]
    assert gateway.get(f"{path}/limits")["running"] == 1
    found = set_limits(gateway, path, rateCount=1, rateInterval=3_600_000, maxRunning=None)
    opens = found.pop("nextStartAt")  # what started under the rate before counts
    assert opens == pytest.approx(time.time() * 1000 + 3_600_000, abs=60_000)
    assert found == {
        "maxRunning": None,
        "keyLimit": None,
        "rateCount": 1,
        "rateInterval": 3_600_000,
        "rateBurst": 1,
        "keyRateCount": None,
        "keyRateInterval": None,
        "keyRateBurst": None,
        "running": None,
    }
    assert polled(gateway, path) is None
    assert set_limits(gateway, path) == NONE


def test_a_limit_of_each_key(gateway: Served, client: Client, path: str, queue: str) -> None:
    assert gateway.status("PUT", f"{path}/limits", json={"keyLimit": 2}) == 409
    client.create_queue(f"{queue} s", "singleton")
    assert set_limits(gateway, f"/{queue} s/api/queue", keyLimit=2)["keyLimit"] == 2
    rate = {"keyRateCount": 6, "keyRateInterval": 1500, "keyRateBurst": 2}
    assert gateway.status("PUT", f"{path}/limits", json=rate) == 409
    assert set_limits(gateway, f"/{queue} s/api/queue", **rate) == NONE | rate


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"maxRunning": 0}, "maxRunning is not a whole number from 1"),
        ({"maxRunning": 1.5}, "maxRunning is not a whole number"),
        ({"maxRunning": "4"}, "maxRunning is not a whole number"),
        ({"maxRunning": 1001}, "max_running"),
        ({"rateCount": 1}, "rate"),
        ({"rateCount": 3, "rateInterval": 1000, "rateBurst": 2}, "burst"),
        ({"rateCount": 3, "rateInterval": 0}, "rate_interval"),
        ({"keyRateCount": 101, "keyRateInterval": 1}, "key_rate_count"),
        ({"keyRateInterval": 1000}, "key rate"),
        ({"keyRateCount": 5, "keyRateInterval": 1000, "keyRateBurst": 2}, "burst"),
        ({"perKey": 1}, "the body has 'perKey'"),
    ],
)
def test_what_is_wrong_with_limits(
    gateway: Served, path: str, limits: dict[str, Any], error: str
) -> None:
    answer = gateway.ask("PUT", f"{path}/limits", json=limits)
    assert answer.status_code == 400
    assert error in answer.json()["error"]
    assert gateway.get(f"{path}/limits") == NONE


def test_limits_of_a_queue_that_is_not_there(gateway: Served) -> None:
    for method, more in (("GET", {}), ("PUT", {"json": {}})):
        assert gateway.status(method, "/nowhere/api/queue/limits", **more) == 404


def test_limits_need_the_role_of_an_operator(guarded: Served, path: str) -> None:
    for caller, status in (("shop", 200), ("eye", 403), ("till", 403)):
        served = guarded.of(caller)
        assert served.ask("GET", f"{path}/limits").status_code == status
        assert served.ask("PUT", f"{path}/limits", json={}).status_code == status


def test_limits_that_are_refused_are_not_asked_for_again() -> None:
    class Eye:
        asked = 0

        async def nothing(self, **_: object) -> list[Any]:
            return []

        live_stats = job_totals = list_workers = health = nothing

        async def list_queue_limits(self) -> list[Any]:
            self.asked += 1
            raise psycopg.errors.InsufficientPrivilege("not yours")

    async def clock() -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC)

    async def look(eye: Any) -> None:
        pictures = _watch.Watch(eye, 0.01, clock).pictures()
        for _ in range(5):
            await anext(pictures)
        await pictures.aclose()  # type: ignore[attr-defined]

    eye = Eye()
    asyncio.run(look(eye))
    assert eye.asked == 1


def test_charts_begin_before_any_page_was_opened(
    gateway_dsn: str, client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_state, "BETWEEN", 0.05)

    async def past() -> dict[str, list[list[float]]]:
        gateway = _state.Gateway(Settings(gateway_dsn))
        await gateway.clients.pool.open()
        looking = asyncio.create_task(gateway.remember())
        watch = gateway.watch(gateway.settings.anyone)
        try:
            while not watch.told()["ages"].get(queue):
                client.enqueue_job(queue)
                await asyncio.sleep(0.05)
            return watch.told()["ages"]
        finally:
            looking.cancel()
            await gateway.close()

    points = asyncio.run(asyncio.wait_for(past(), 30))[queue]
    assert len(points) >= 2
    assert all(before[0] < after[0] for before, after in pairwise(points))


def test_who_may_not_look_is_not_looked_for_again() -> None:
    class Till:
        asked = 0

        async def live_stats(self, **_: object) -> list[object]:
            self.asked += 1
            raise psycopg.errors.lookup("42501")("not yours")

        async def job_totals(self, **_: object) -> list[object]:
            return []

    async def clock() -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC)

    async def look(till: Any) -> None:
        watch = _watch.Watch(till, 1, clock)
        await watch.look_back()
        await watch.look_back()

    till = Till()
    asyncio.run(look(till))
    assert till.asked == 1
