"""Numbers stay themselves through the commands: what is stored is what SQL makes of the argument,
and what is printed is what is stored, digit by digit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commands import Command
from exact import NUMBERS, PAYLOAD, exactly, same_numbers
from psycopg.types.json import set_json_loads

from pgbaton import Client


@pytest.fixture
def raw(dsn: str, client: Client) -> Iterator[psycopg.Connection[Any]]:
    """SQL with jsonb as text."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        set_json_loads(lambda data: bytes(data).decode(), conn)
        yield conn


def one(raw: psycopg.Connection[Any], query: str, *parameters: Any) -> str:
    [(found,)] = raw.execute(query.encode(), parameters).fetchall()
    return str(found)


def payload_of(raw: psycopg.Connection[Any], job_id: object) -> str:
    return one(raw, "select payload from pgbaton.get_job(%s)", job_id)


WAYS = ["argument", "file", "stdin", "lines", "jobs"]


def enqueue(run: Command, way: str, payload: str, directory: Path) -> str:
    """The id of the job."""
    if way == "argument":
        return run.out("enqueue", "mail", "--", payload).strip()
    if way == "file":
        (directory / "payload.json").write_text(payload)
        return run.out("enqueue", "mail", f"@{directory}/payload.json").strip()
    if way == "stdin":
        return run.out("enqueue", "mail", "-", input=payload).strip()
    line = f'{{"priority": 7, "payload" : {payload}}}' if way == "jobs" else payload
    more = ["--jobs"] if way == "jobs" else []
    [done] = run.json("enqueue", "mail", "--lines", "-", *more, input=line)
    return str(done["job_id"])


@pytest.mark.parametrize("way", WAYS)
def test_payloads_of_enqueue(
    run: Command, raw: psycopg.Connection[Any], tmp_path: Path, way: str
) -> None:
    for payload in (PAYLOAD, *NUMBERS):
        found = payload_of(raw, enqueue(run, way, payload, tmp_path))
        assert found == one(raw, "select %s::jsonb", payload)
        assert same_numbers(found, payload)


def test_what_the_commands_print(
    run: Command, client: Client, raw: psycopg.Connection[Any], tmp_path: Path
) -> None:
    job_id = enqueue(run, "argument", PAYLOAD, tmp_path)
    text = payload_of(raw, job_id)
    wanted = exactly(text)

    def shows(*arguments: object) -> None:
        printed = run.out(*arguments)
        assert all(number in printed for number in wanted["n"])

    assert exactly(run.out("job", "show", job_id, "--json"))["payload"] == wanted
    shows("job", "show", job_id)
    [job] = client.claim_job_batch("w", ["mail"])
    client.fail_job(job.id, "no", job.lease_token)
    assert exactly(run.out("dlq", "show", job_id, "--json"))["payload"] == wanted
    assert exactly(run.out("dlq", "list", "--json"))[0]["payload"] == wanted
    shows("dlq", "show", job_id)
    [done] = run.json("dlq", "requeue", job_id)
    assert payload_of(raw, done["new_job_id"]) == text

    [job] = client.claim_job_batch("w", ["mail"])
    raw.execute(
        "select pgbaton.complete_job(%s, %s::jsonb, %s)", [job.id, PAYLOAD, job.lease_token]
    )
    assert exactly(run.out("job", "show", job.id, "--json"))["result"] == wanted
    shows("job", "show", job.id)


def test_payloads_of_schedules(run: Command, raw: psycopg.Connection[Any]) -> None:
    run.out("schedule", "create", "s", "mail", "0 8 * * *", PAYLOAD)
    text = one(raw, "select payload from pgbaton.list_schedules()")
    assert text == one(raw, "select %s::jsonb", PAYLOAD)
    assert exactly(run.out("schedule", "list", "--json"))[0]["payload"] == exactly(text)
    assert payload_of(raw, run.out("schedule", "run", "s").strip()) == text


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_as_a_key(run: Command, raw: psycopg.Connection[Any], number: str) -> None:
    """As the operator ->> of jsonb has it; what is too long for a key is refused."""
    payload = f'{{"id": {number}}}'
    wanted = one(raw, "select %s::jsonb->>'id'", payload)
    done = run("enqueue", "orders", payload, "--key-field", "id")
    assert (done.exit_code == 0) == (len(wanted) <= 1024), done.stderr
    if done.exit_code == 0:
        key = one(raw, "select singleton_key from pgbaton.get_job(%s)", done.stdout.strip())
        assert key == wanted
