"""Jobs that a filter names: listed, shown with their attempts, and acted on, one or all."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import typer
from commands import Command, fail_one

from pgbaton import Client
from pgbaton._json_text import read
from pgbaton.cli._filters import contained
from pgbaton.cli._io import instant


def ids(run: Command, *options: object) -> list[int]:
    return [job["id"] for job in run.json("job", "list", *options)["jobs"]]


def test_a_list_by_each_option(run: Command, client: Client) -> None:
    start = datetime.now(UTC)
    failed = fail_one(client)
    behind = client.enqueue_job("orders", {"to": {"name": "Ann"}, "n": 7}, singleton_key="k")
    letter = client.enqueue_job("mail", "text", job_type="letter", tags=["eu", "slow"])
    done = client.enqueue_job("mail", {"n": 2})
    [claimed] = client.claim_job_batch("postman", ["mail"], job_types=[""])
    client.complete_job(claimed.id, None, claimed.lease_token)
    end = datetime.now(UTC) + timedelta(hours=1)
    everything = [done, letter, behind, failed]
    expected: dict[tuple[object, ...], list[int]] = {
        (): everything,
        ("--oldest-first",): everything[::-1],
        ("--queue", "mail"): [done, letter],
        ("--state", "failed"): [failed],
        ("--state", "completed", "--state", "waiting"): [done, behind],
        ("--type", "letter"): [letter],
        ("--job-type", "letter"): [letter],
        ("--tag", "slow", "--tag", "eu"): [letter],
        ("--key", "k"): [behind, failed],
        ("--singleton-key", "k", "--state", "waiting"): [behind],
        ("--worker", "postman"): [done],
        ("--error", "on fire"): [failed],
        ("--payload", '{"n": 1}'): [failed],
        ("--payload", "n=7"): [behind],
        ("--payload", "to.name=Ann"): [behind],
        ("--payload", '"text"'): [letter],
        ("--created-after", end.isoformat()): [],
        ("--created-before", end.isoformat()): everything,
        ("--created-after", start.isoformat(), "--queue", "mail"): [done, letter],
        ("--ended-after", start.isoformat()): [done, failed],
        ("--ended-before", start.isoformat()): [],
    }
    for options, wanted in expected.items():
        assert ids(run, *options) == wanted, options
    assert run("job", "list", "--state", "cancelling").stderr == "no job fits\n"
    wrong = run("job", "list", "--state", "dead")
    assert (wrong.exit_code, "given_up" in wrong.stderr) == (1, True)


def test_a_long_list_goes_on_where_it_ended(run: Command, client: Client) -> None:
    made = client.enqueue_batch("mail", range(7))
    page = run.json("job", "list", "--limit", 5, "--queue", "mail")
    assert [job["id"] for job in page["jobs"]] == made[:1:-1]
    rest = run.json("job", "list", "--queue", "mail", "--after", page["next_after"])
    assert ([job["id"] for job in rest["jobs"]], rest["next_after"]) == (made[1::-1], None)
    said = run("job", "list", "--limit", 5, "--queue", "mail").stderr
    assert said == f"there are more; go on with --after {page['next_after']}\n"


def test_a_list_goes_on_until_it_has_found_enough(run: Command, client: Client) -> None:
    """Although the server looks at some thousand jobs in one call."""
    first = client.enqueue_job("mail", {"n": "first"})
    client.enqueue_batch("mail", range(12_000))
    assert client.find_jobs({"payload": {"n": "first"}}).job_ids == []
    assert ids(run, "--payload", "n=first") == [first]


def test_a_job_with_its_attempts(run: Command, client: Client) -> None:
    job_id = client.enqueue_job("mail", max_attempts=3)
    for n in (1, 2):
        [job] = client.claim_job_batch(f"worker {n}", ["mail"])
        client.fail_job(
            job.id, f"no {n}", job.lease_token, retry_in="0", error_stack=f"line {n}\n\x1b[2J"
        )
    shown = run.json("job", "show", job_id)
    assert [(a["attempt"], a["outcome"], a["error_message"]) for a in shown["attempts"]] == [
        (2, "failed", "no 2"),
        (1, "failed", "no 1"),
    ]
    assert shown["state"] == "retry"
    printed = run.out("job", "show", job_id)
    assert re.search(
        r"attempt 2: failed, .* ago, after .*, by worker 2\n  no 2\n  line 2\n", printed
    )
    assert "\x1b" not in printed
    assert "attempt 1" not in run.out("job", "show", job_id, "--attempts", 1)
    assert run.json("job", "show", job_id, "--attempts", 0)["attempts"] == []


@pytest.mark.parametrize(
    ("command", "done", "state"),
    [
        (["job", "retry"], "retried", "retry"),
        (["job", "skip"], "skipped", "failed"),
        (["job", "delete"], "deleted", "failed"),
        (["job", "delete", "--for-good"], "deleted", None),
        (["dlq", "requeue"], "requeued", "failed"),
    ],
)
def test_all_that_fit(
    run: Command, client: Client, command: list[str], done: str, state: str | None
) -> None:
    dead = [fail_one(client, "mail", None) for _ in range(3)]
    other = fail_one(client)
    options = ["--queue", "mail", "--state", "failed", "--error", "fire"]
    assert run.json(*command, *options, "--dry-run") == {"jobs": 3}
    assert client.find_jobs({"queue": "mail", "states": ["failed"]}).job_ids == dead[::-1]
    yes = [] if done == "retried" else ["--yes"]
    assert run.json(*command, *options, "--reason", "why", *yes) == {done: 3, "passed_over": 0}
    assert [job.state for job in client.list_jobs(dead)] == ([state] * 3 if state else [])
    assert client.get_job(other).state == "failed"
    assert run.json(*command, *options, "--dry-run") == {"jobs": 0}


@pytest.mark.parametrize(
    ("move", "moved"),
    [
        (["reschedule", "--at", "2100-01-01T00:00+00:00"], (2100, 100)),
        (["reschedule"], (None, 100)),
        (["priority", "--to", "7"], (2050, 7)),
    ],
)
def test_all_that_fit_are_moved(
    run: Command, client: Client, move: list[str], moved: tuple[int | None, int]
) -> None:
    later = datetime(2050, 1, 2, tzinfo=UTC)
    made = client.enqueue_batch("mail", range(3), job_type="news", run_at=later)
    other = client.enqueue_job("mail", run_at=later)
    command = ["job", *move, "--queue", "mail", "--type", "news"]
    assert run.json(*command, "--dry-run") == {"jobs": 3}
    assert client.get_job(made[0]).run_at == later
    assert re.search(r"(Reschedule|Prioritize) 3 jobs\?", run(*command).stderr)
    done = run.json(*command, "--reason", "a holiday", "--yes")
    assert done == {"moved": 3, "passed_over": 0}
    year, priority = moved
    for job in map(client.get_job, made):
        assert job.priority == priority
        assert job.run_at is not None
        assert (job.run_at.year == year) if year else (job.run_at < later)
    assert (client.get_job(other).run_at, client.get_job(other).priority) == (later, 100)
    assert "a holiday" in str(client.list_audit("mail")[0].reason)


def test_all_that_fit_are_counted_before_it_asks(
    run: Command, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = client.enqueue_batch("mail", range(1234))
    nobody = run("job", "cancel", "--queue", "mail")
    assert (nobody.exit_code, "Cancel 1,234 jobs?" in nobody.stderr) == (2, True)
    monkeypatch.setattr("pgbaton.cli._io._is_asked", lambda: True)
    refused = run("job", "cancel", "--queue", "mail", input="n\n")
    assert (refused.exit_code, "nothing was changed" in refused.stderr) == (1, True)
    assert client.get_job(made[0]).state == "pending"
    said = run("job", "cancel", "--queue", "mail", input="y\n")
    assert (said.exit_code, "cancelled 1,234 jobs" in said.stderr) == (0, True)
    assert {job.state for job in client.list_jobs(made)} == {"unscheduled"}
    assert run("job", "cancel", "--queue", "mail").stderr == "no job fits\n"


def test_what_was_done_before_the_connection_was_lost(
    run: Command, client: Client, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.enqueue_batch("mail", range(1234))
    right = Client.act_on_jobs
    steps = 0

    def act(*given: Any, **more: Any) -> Any:
        nonlocal steps
        steps += not (more.get("dry_run") or given[6])
        if steps == 2:
            with psycopg.connect(dsn) as conn:
                conn.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where datname = current_database() and pid <> pg_backend_pid()"
                )
        return right(*given, **more)

    monkeypatch.setattr(Client, "act_on_jobs", act)
    said = run("job", "cancel", "--queue", "mail", "--yes")
    assert said.exit_code == 1
    assert "cancelled 500 jobs before it failed. The step that was under way may" in said.stderr
    assert "The others are as they were." in said.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["job", "retry"],
        ["job", "retry", "1", "--reason", "nowhere to keep it"],
        ["job", "cancel", "1", "--reason", "nowhere to keep it", "--yes"],
        ["job", "delete", "1", "--reason", "nowhere to keep it", "--yes"],
        ["job", "reschedule", "1", "--reason", "nowhere to keep it"],
        ["job", "priority", "1", "--to", "2", "--reason", "nowhere to keep it"],
        ["dlq", "requeue", "1", "--reason", "nowhere to keep it"],
        ["job", "cancel", "--yes"],
        ["job", "delete", "--yes", "--for-good"],
        ["dlq", "requeue", "--yes"],
        ["job", "reschedule", "--yes"],
        ["job", "priority", "--queue", "mail"],
        ["job", "priority", "1", "--to", "2", "--queue", "mail"],
        ["job", "retry", "1", "--queue", "mail"],
        ["job", "skip", "1", "--dry-run"],
        ["job", "list", "--payload", "no json"],
        ["job", "list", "--created-after", "tomorrow"],
        ["job", "list", "--limit", "0"],
    ],
)
def test_what_is_no_choice_of_jobs(run: Command, client: Client, arguments: list[str]) -> None:
    waiting = client.enqueue_job("mail")
    assert run(*arguments).exit_code == 2
    assert client.get_job(waiting).state == "pending"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", {"a": 1}),
        ("a.b=true", {"a": {"b": True}}),
        ("a=x y", {"a": "x y"}),
        ('a="1"', {"a": "1"}),
        ("a=", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ('{"a": "b=c"}', {"a": "b=c"}),
        ('["a=b"]', ["a=b"]),
        ("17", 17),
        ('""', ""),
    ],
)
def test_ways_to_say_what_a_payload_contains(text: str, value: object) -> None:
    assert read(contained(text)) == value
    with pytest.raises(typer.BadParameter):
        contained("neither")


def test_numbers_of_a_payload_stay_exact(run: Command, client: Client) -> None:
    job_id = int(run.out("enqueue", "mail", '{"n": 12345678901234567890.123}'))
    assert ids(run, "--payload", "n=12345678901234567890.123") == [job_id]
    assert ids(run, "--payload", "n=12345678901234567890.124") == []


@pytest.fixture
def set_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def set_it(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield set_it
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "text",
    ["2026-03-29 02:30:00", "2026-10-25 02:30:00", "2026-03-08 02:30", "2026-11-01 01:30",
     "2026-06-01 12:00", "2026-12-01T12:00:00"],
)  # fmt: skip
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC", "Asia/Kolkata"])
def test_a_local_time_is_read_as_postgresql_does(
    dsn: str, set_zone: Callable[[str], None], zone: str, text: str
) -> None:
    """Also one that a change of the clock leaves out or repeats."""
    set_zone(zone)
    with psycopg.connect(dsn) as conn:
        conn.execute("select set_config('timezone', %s, false)", [zone])
        row = conn.execute("select %s::text::timestamptz", [text]).fetchone()
    assert row is not None
    read = instant(text)
    assert read is not None
    assert read.timestamp() == row[0].timestamp()
