"""Numbers stay themselves over HTTP: what comes out is what SQL stores, digit by digit."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from exact import NUMBERS, PAYLOAD, exactly, same_numbers
from psycopg.types.json import set_json_loads
from serving import Served

from pgbaton import Client


@pytest.fixture
def path(queue: str) -> str:
    return f"/{queue}/api/queue"


@pytest.fixture
def raw(gateway_dsn: str) -> Any:
    """SQL with jsonb as text."""
    with psycopg.connect(gateway_dsn, autocommit=True) as conn:
        set_json_loads(lambda data: bytes(data).decode(), conn)
        yield conn


def enqueue(served: Served, path: str, payload: str, options: str = "{}") -> int:
    body = f'{{"options": {options}, "value" : {payload}\n}}'
    answer = served.ask(
        "POST", f"{path}/enqueue", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def stored(raw: psycopg.Connection[Any], job_id: int) -> str:
    [(payload,)] = raw.execute("select payload from pgbaton.get_job(%s)", [job_id]).fetchall()
    return str(payload)


def said(served: Served, path: str) -> Any:
    answer = served.ask("GET", path)
    assert answer.status_code == 200, answer.text
    return exactly(answer.text)


@pytest.mark.parametrize("payload", [PAYLOAD, *NUMBERS])
def test_what_is_sent_is_stored_as_sql_would(
    gateway: Served, path: str, payload: str, raw: psycopg.Connection[Any]
) -> None:
    found = stored(raw, enqueue(gateway, path, payload))
    [(wanted,)] = raw.execute("select %s::jsonb", [payload]).fetchall()
    assert found == wanted
    assert same_numbers(found, payload)


def test_each_route_that_carries_a_value(
    gateway: Served, client: Client, queue: str, path: str, raw: psycopg.Connection[Any]
) -> None:
    job_id = enqueue(
        gateway, path, PAYLOAD, f'{{"keysIfUndelivered": [["{queue}"]], "backoffSchedule": []}}'
    )
    text = stored(raw, job_id)
    wanted = exactly(text)
    assert said(gateway, f"{path}/poll")["message"]["value"] == wanted
    gateway.post(f"{path}/nack", {"id": str(job_id)})
    assert said(gateway, f"{path}/dlq")[0]["value"] == wanted
    assert said(gateway, f"{path}/dlq/{job_id}")["value"] == wanted
    [entry] = said(gateway, f"/{queue}/api/keys?prefix={queue}")
    assert entry["value"] == wanted
    # The page is sent texts: a browser makes floats of numbers.
    assert exactly(said(gateway, f"/ui/jobs/{job_id}")["job"]["payload"]) == wanted
    assert exactly(said(gateway, f"/ui/dead?queue={queue}")[0]["payload"]) == wanted
    new_id = int(gateway.post(f"{path}/dlq/{job_id}/requeue")["newId"])
    assert stored(raw, new_id) == text
    with gateway.http.stream("GET", f"{gateway.url}{path}/listen") as answer:
        data = next(line for line in answer.iter_lines() if line.startswith("data: {"))
    assert exactly(data.removeprefix("data: "))["value"] == wanted


def test_results_on_the_page(
    gateway: Served, client: Client, queue: str, raw: psycopg.Connection[Any]
) -> None:
    client.enqueue_job(queue)
    [job] = client.claim_job_batch("w", [queue])
    raw.execute(
        "select pgbaton.complete_job(%s, %s::jsonb, %s)", [job.id, PAYLOAD, job.lease_token]
    )
    [(result,)] = raw.execute("select result from pgbaton.get_job(%s)", [job.id]).fetchall()
    assert same_numbers(result, PAYLOAD)
    shown = said(gateway, f"/ui/jobs/{job.id}")["job"]["result"]
    assert exactly(shown) == exactly(result)


def test_options_are_whole_numbers_however_they_are_written(
    gateway: Served, client: Client, path: str
) -> None:
    job_id = enqueue(gateway, path, "1", '{"priority": 1.5E2, "backoffSchedule": [1e3, 2.0]}')
    assert (client.get_job(job_id).priority, client.get_job(job_id).max_attempts) == (150, 3)
    for options in ('{"priority": 1e400}', '{"priority": 9007199254740993}', '{"delay": 1e-400}'):
        body = f'{{"value": 1, "options": {options}}}'
        headers = {"Content-Type": "application/json"}
        status = gateway.ask("POST", f"{path}/enqueue", content=body, headers=headers).status_code
        assert status == (200 if "e-400" in options else 400)
