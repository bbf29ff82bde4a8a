"""Each command against a real database: what it does, what it prints, how it fails."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commands import Command, fail_one
from rich.cells import cell_len
from rich.console import Console

from pgbaton import Client, JobState


def state(client: Client, job_id: int) -> tuple[str, str | None]:
    job = client.get_job(job_id)
    return job.state.value, job.resolution


# queue -----------------------------------------------------------------------------------------


def test_a_queue_is_made_shown_changed_paused_and_dropped(run: Command, client: Client) -> None:
    run.out("queue", "create", "hooks", "--policy", "fifo", "--max-attempts", "unlimited",
            "--lease", "2 minutes", "--backoff", "1s", "--backoff", "1 hour", "--no-retry-backoff",
            "--on-exhausted", "continue", "--description", "web hooks")  # fmt: skip
    shown = run.json("queue", "show", "hooks")
    assert (shown["policy"], shown["on_exhausted"], shown["max_attempts"]) == (
        "fifo",
        "continue",
        None,
    )
    assert (shown["lease"], shown["backoff_schedule"]) == (120.0, [1.0, 3600.0])
    assert shown["retry_backoff"] is False
    run.out("queue", "update", "hooks", "--max-attempts", 7, "--retention", "3 days")
    assert "3d" in run.out("queue", "show", "hooks")
    names = [queue["queue"] for queue in run.json("queue", "list")]
    assert names == ["hooks", "mail", "orders"]
    assert run.out("queue", "list").count("\n") == 4

    assert run.json("queue", "pause", "hooks")["is_paused"] is True
    assert run.json("queue", "show", "hooks")["is_paused"] is True
    run.out("queue", "resume", "hooks")
    run.out("queue", "pause", "hooks", "--key", "a")
    client.enqueue_job("hooks", singleton_key="a")
    assert client.claim_job_batch("worker", ["hooks"]) == []
    run.out("queue", "resume", "hooks", "--key", "a")
    assert len(client.claim_job_batch("worker", ["hooks"])) == 1

    refused = run("queue", "drop", "hooks", "--yes")
    assert (refused.exit_code, "PB008" in refused.stderr) == (1, True)
    run.out("queue", "drop", "hooks", "--force", "--yes")
    assert run("queue", "show", "hooks").exit_code == 1


def test_order_is_turned_on_and_off(run: Command, client: Client) -> None:
    run.out("queue", "update", "mail", "--fifo")
    client.enqueue_batch("mail", [1, 2], singleton_keys=["a", "a"])
    assert "PB008" in run("queue", "update", "mail", "--no-fifo").stderr
    run.out("queue", "update", "mail", "--no-fifo", "--force")
    assert run.json("queue", "show", "mail")["policy"] == "standard"


# enqueue ---------------------------------------------------------------------------------------


def test_a_payload_is_an_argument_a_file_or_stdin(
    run: Command, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "payload.json").write_text('["from", "a file"]')
    payloads = {
        run.out("enqueue", "mail", '{"a": 1}'): {"a": 1},
        run.out("enqueue", "mail", f"@{tmp_path}/payload.json"): ["from", "a file"],
        run.out("enqueue", "mail", "-", input='"from stdin"'): "from stdin",
        run.out("enqueue", "mail"): {},
    }
    assert {int(job_id) for job_id in payloads}  # an id a line and nothing else
    for job_id, payload in payloads.items():
        assert client.get_job(int(job_id)).payload == payload


def test_options_of_a_job(run: Command, client: Client) -> None:
    job_id = run.json(
        "enqueue", "orders", '{"customer": 7}', "--key-field", "customer", "--priority", 150,
        "--type", "paid", "--tag", "b", "--tag", "a", "--at", "2126-01-02T03:04:05+01:00",
        "--max-attempts", 9, "--dedup-id", "once", "--header", "a=b=c", "--header", "d=",
    )["job_id"]  # fmt: skip
    job = client.get_job(job_id)
    assert (job.singleton_key, job.priority, job.job_type, job.tags) == (
        "7",
        150,
        "paid",
        ["a", "b"],
    )
    assert (job.run_at, job.max_attempts) == (datetime(2126, 1, 2, 2, 4, 5, tzinfo=UTC), 9)
    assert job.headers == {"a": "b=c", "d": ""}
    again = ("enqueue", "orders", "--key", "7", "--dedup-id", "once")
    assert "PB006" in run(*again).stderr
    assert run.out(*again, "--skip-duplicates") == f"{job_id}\n"
    delayed = client.get_job(int(run.out("enqueue", "mail", "--delay", "1 day")))
    assert delayed.run_at is not None
    assert delayed.run_at - delayed.created_at > timedelta(hours=23)


def test_a_job_that_replaces_another_one(run: Command, client: Client) -> None:
    once = ("enqueue", "mail", "--dedup-id", "item 7", "--replace-duplicates")
    first, second = (int(run.out(*once, "--debounce", "1 min", "--max-wait", "1 h")) for _ in "12")
    assert client.get_job(first).resolution == "replaced"
    replaced = client.get_job(second)
    assert replaced.run_at is not None
    assert timedelta(seconds=50) < replaced.run_at - replaced.created_at <= timedelta(minutes=1)
    refused = run(*once, "--debounce", "1 min", "--max-wait", "30 s")
    assert "is not above debounce" in refused.stderr
    refused = run("enqueue", "mail", "--debounce", "1 min")
    assert "pass --replace-duplicates" in refused.stderr
    assert run(*once, "--skip-duplicates").exit_code == 2


def test_many_jobs_from_lines(run: Command, client: Client, tmp_path: Path) -> None:
    lines = tmp_path / "jobs.jsonl"
    lines.write_text("".join(f'{{"id": {n}, "order": "o{n % 3}"}}\n\n' for n in range(2500)))
    done = run("enqueue", "orders", "--lines", lines, "--key-field", "order")
    assert (done.exit_code, done.stderr) == (0, "2,500 enqueued\n")
    printed = [int(line) for line in done.stdout.splitlines()]
    assert [client.get_job(job_id).payload["id"] for job_id in printed[::500]] == [
        *range(0, 2500, 500)
    ]
    assert len(set(printed)) == 2500
    assert client.queue_stats("orders")[0].total == 2500
    first, second = (client.claim_job_batch("worker", ["orders"], batch_size=9) for _ in range(2))
    assert [job.payload["id"] for job in first] == [0, 1, 2]
    assert second == []

    options = (
        '{"payload": [1], "singleton_key": "x", "run_at": "2126-01-02T03:04:05+00:00"}\n'
        '{"dedup_id": "d", "priority": 7}\n'
    )
    outcomes = run.json("enqueue", "orders", "--lines", "-", "--jobs", "--key", "y", input=options)
    assert [(one["ordinal"], one["outcome"]) for one in outcomes] == [
        (1, "enqueued"),
        (2, "enqueued"),
    ]
    jobs = [client.get_job(one["job_id"]) for one in outcomes]
    assert jobs[0].run_at == datetime(2126, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert [(job.singleton_key, job.payload, job.priority) for job in jobs] == [
        ("x", [1], 100),
        ("y", {}, 7),
    ]


@pytest.mark.parametrize(
    "job", ['{"tags": "one"}', '{"delay": 5}', '{"run_at": 5}', '{"run_at": "soon"}', '{"no": 1}']
)
def test_options_of_the_wrong_type(run: Command, client: Client, job: str) -> None:
    failed = run("enqueue", "mail", "--lines", "-", "--jobs", input=job)
    assert failed.exit_code in (1, 2)
    assert failed.stderr
    assert isinstance(failed.exception, SystemExit)
    assert client.queue_stats("mail")[0].total == 0


@pytest.mark.parametrize("last", ["no JSON", "[1]"])
def test_lines_are_all_or_nothing(run: Command, client: Client, last: str) -> None:
    lines = "".join(f'{{"id": {n}}}\n' for n in range(1200)) + last
    failed = run("enqueue", "orders", "--lines", "-", "--key-field", "id", input=lines)
    assert failed.exit_code == 2
    assert client.queue_stats("orders")[0].total == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["mail", "{"],
        ["mail", "text"],
        ["mail", "{}", "--lines", "-"],
        ["mail", "--jobs"],
        ["mail", "[" * 100_000],
        ["mail", "--at", "tomorrow"],
        ["mail", "--header", "nothing"],
        ["mail", "[]", "--key-field", "a"],
        [],
    ],
)
@pytest.mark.usefixtures("client")
def test_a_call_that_makes_no_sense_is_a_usage_error(run: Command, arguments: list[str]) -> None:
    assert run("enqueue", *arguments).exit_code == 2


# job, blocked, dlq -----------------------------------------------------------------------------


def test_a_blocked_key_from_seeing_it_to_going_on(run: Command, client: Client) -> None:
    failed = fail_one(client)
    behind = client.enqueue_job("orders", singleton_key="k")
    [row] = run.json("blocked")
    assert (row["job_id"], row["waiting_count"], row["last_error"]) == (
        failed,
        1,
        "printer on fire",
    )
    table = run.out("blocked", "orders")
    assert "printer on fire" in table
    assert str(failed) in table
    assert f"job {failed}" in run.json("job", "why", behind)["why"]
    assert "failed" in run.out("job", "why", failed)
    shown = run.json("job", "show", failed)
    assert (shown["state"], shown["payload"], shown["holds_key"]) == ("failed", {"n": 1}, True)
    assert "printer on fire" in run.out("job", "show", failed)

    run.out("job", "retry", failed, "--extra-attempts", 2)
    assert client.get_job(failed).max_attempts == 3
    assert [key["state"] for key in run.json("blocked", "--busy")] == ["retry"]
    [job] = client.claim_job_batch("worker", ["orders"])
    client.fail_job(job.id, "again", job.lease_token, retryable=False)
    run.out("job", "skip", failed, "--reason", "by hand", "--yes")
    assert state(client, failed) == ("failed", "skipped")
    assert [job.id for job in client.claim_job_batch("worker", ["orders"])] == [behind]
    said = run("blocked")
    assert (said.stdout, said.stderr) == ("", "no key is blocked\n")
    assert run.json("blocked") == []


def test_why_names_commands_that_a_shell_can_run(run: Command, client: Client) -> None:
    client.create_fifo_queue("parcels")
    key = "it's \\ (one, two)"
    job_id = client.enqueue_job("parcels", singleton_key=key)
    client.pause_key("parcels", key)
    said = run.out("job", "why", job_id)
    [command] = re.findall("`pgbaton ([^`]+)`", said)
    assert shlex.split(command) == ["queue", "resume", "parcels", "--key", key]
    run.out(*shlex.split(command))
    client.pause_queue("parcels")
    assert "`pgbaton queue resume parcels`" in run.out("job", "why", job_id)
    client.resume_queue("parcels")
    [job] = client.claim_job_batch("worker", ["parcels"])
    client.fail_job(job.id, "call_me(1)", job.lease_token, retryable=False)
    said = run.out("job", "why", job_id)
    assert "call_me(1)" in said
    for wanted in (f"`pgbaton job retry {job_id}`", f"`pgbaton job skip {job_id}`"):
        assert wanted in said


def test_jobs_that_wait_for_one_that_failed(run: Command, client: Client) -> None:
    parent = fail_one(client)
    child = client.enqueue_job("mail", after=[parent])
    grandchild = client.enqueue_job("mail", after=[child])
    assert client.claim_job_batch("worker", ["mail"]) == []  # which looks at the failed one
    [row] = run.json("blocked", "--jobs", "mail")
    assert (row["job_id"], row["waits_for"]) == (child, parent)
    assert row["last_error"] == "printer on fire"
    assert str(child) in run.out("blocked", "--jobs")
    assert run("blocked", "--jobs", "--busy").exit_code == 2
    assert f"waits for job {parent} (orders, failed)" in run.out("job", "show", child)
    assert f"job {child} (mail, pending) waits for it" in run.out("job", "show", parent)
    dependencies = run.json("job", "show", child)["dependencies"]
    assert [(d["job_id"], d["waits_for"]) for d in dependencies] == [
        (child, parent),
        (grandchild, child),
    ]
    run.out("job", "stop-waiting", child, "--reason", "by hand")
    assert f"waited for job {parent}" in run.out("job", "show", child)
    assert [entry.reason for entry in client.list_audit("mail", child)] == ["by hand"]
    assert [job.id for job in client.claim_job_batch("worker", ["mail"])] == [child]
    said = run("blocked", "--jobs")
    assert said.stderr == "no job waits for one that failed or is gone\n"
    again = run("job", "stop-waiting", child)
    assert (again.exit_code, "PB003" in again.stderr) == (1, True)


def test_paused_keys_are_listed(run: Command, client: Client) -> None:
    client.create_fifo_queue("parcels")
    assert run("queue", "paused").stderr == "no key is paused\n"
    run.out("queue", "pause", "parcels", "--key", "customer 7")
    run.out("queue", "pause", "parcels", "--key", "customer 8")
    rows = run.json("queue", "paused", "parcels")
    assert [row["singleton_key"] for row in rows] == ["customer 7", "customer 8"]
    assert run.json("queue", "paused", "--limit", 1) == rows[:1]
    assert "customer 8" in run.out("queue", "paused")
    assert run.json("queue", "paused", "parcels", "--after", "customer 7") == rows[1:]
    run.out("queue", "resume", "parcels", "--key", "customer 7")
    assert run.json("queue", "paused", "parcels") == rows[1:]
    assert run("queue", "paused", "nowhere").exit_code == 1


def test_the_audit_says_who_did_what(run: Command, client: Client) -> None:
    assert run("audit", "--job", 1).stderr == "nothing was done\n"
    failed = fail_one(client)
    run.out("job", "retry", failed)
    [job] = client.claim_job_batch("worker", ["orders"])
    client.fail_job(job.id, "again", job.lease_token, retryable=False)
    run.out("job", "skip", failed, "--reason", "a refund", "--yes")
    last, first = run.json("audit", "orders", "--job", failed)
    assert (last["action"], last["reason"], last["singleton_key"]) == ("skip_job", "a refund", "k")
    assert first["action"] == "retry_job"
    assert run.json("audit", "--job", failed, "--limit", 1) == [last]
    assert run.json("audit", "--job", failed, "--before", last["id"]) == [first]
    assert "a refund" in run.out("audit", "orders")


def test_jobs_are_retried_by_filter_cancelled_and_deleted(run: Command, client: Client) -> None:
    fail_one(client)
    fail_one(client, "mail", None)
    assert run.json("job", "retry", "--queue", "orders", "--error", "water") == {
        "retried": 0,
        "passed_over": 0,
    }
    assert run.json("job", "retry", "--queue", "orders", "--error", "fire") == {
        "retried": 1,
        "passed_over": 0,
    }
    waiting = client.enqueue_batch("mail", range(3), tags=["t"])
    outcome = run.json("job", "cancel", waiting[0], 10**15, "--yes")
    assert outcome == {"cancelled_job_ids": waiting[:1], "unknown_job_ids": [10**15]}
    assert run.json("job", "delete", waiting[1], "--yes") == {"deleted": 1}
    assert state(client, waiting[1]) == ("unscheduled", "deleted")
    assert run("job", "cancel", "--tag", "t", "--yes").stderr == "cancelled 1 job\n"
    assert run.json("job", "delete", "--for-good", *waiting, "--yes") == {"deleted": 3}
    assert "PB002" in run("job", "show", waiting[0]).stderr


def test_dead_letters(run: Command, client: Client) -> None:
    dead = [fail_one(client, "mail", None) for _ in range(3)]
    rows = run.json("dlq", "list", "mail", "--limit", 2, "--offset", 1)
    assert [row["id"] for row in rows] == [dead[1], dead[0]]
    assert run.json("dlq", "show", dead[0])["error_message"] == "printer on fire"
    [new] = run.json("dlq", "requeue", dead[0])
    assert state(client, dead[0]) == ("failed", "requeued")
    assert client.get_job(new["new_job_id"]).state is JobState.PENDING
    assert run("dlq", "requeue", "--queue", "mail").exit_code == 2
    done = run.json("dlq", "requeue", "--queue", "mail", "--yes")
    assert done == {"requeued": 2, "passed_over": 0}
    assert [state(client, job_id) for job_id in dead[1:]] == [("failed", "requeued")] * 2

    fail_one(client)
    assert run.json("dlq", "purge", "--yes") == {"purged": 0}
    assert run.json("dlq", "purge", "--force", "--yes") == {"purged": 1}
    assert run("dlq", "list").stderr == "no dead letters\n"


def test_jobs_are_moved_in_time_and_priority(run: Command, client: Client) -> None:
    first, second = client.enqueue_batch("orders", [1, 2], ["a", "a"])
    said = run("job", "reschedule", first, second, "--at", "2100-01-01T00:00+00:00")
    assert f"moved jobs {first}, {second}; 1 of them stay behind other jobs" in said.stderr
    assert [client.get_job(job).run_at.year for job in (first, second)] == [2100, 2100]
    assert run.json("job", "reschedule", first) == {"moved": 1, "in_line": 0}
    assert run.json("job", "priority", second, "--to", 7) == {"moved": 1, "in_line": 1}
    assert client.get_job(second).priority == 7
    assert "'soon' is no instant" in run("job", "reschedule", first, "--at", "soon").stderr
    assert run("job", "priority", first, 10**15, "--to", 8).exit_code == 1
    assert client.get_job(first).priority == 100


def test_several_ids_are_all_or_nothing(run: Command, client: Client) -> None:
    dead = [fail_one(client, "mail", None) for _ in range(2)]
    unknown = 10**15
    for command in (["job", "retry"], ["job", "skip", "--yes"], ["dlq", "requeue"]):
        assert run(*command, *dead, unknown).exit_code == 1
        assert [client.get_job(job_id).state for job_id in dead] == [JobState.FAILED] * 2
    assert run("job", "delete", "--yes", *dead, unknown).exit_code == 1
    assert run("job", "retry", *dead).stderr == f"retried jobs {dead[0]}, {dead[1]}\n"


# schedule --------------------------------------------------------------------------------------


def test_schedules(run: Command, client: Client) -> None:
    made = run.json(
        "schedule", "create", "report", "mail", "0 8 * * 1-5", '{"to": "boss"}',
        "--time-zone", "Europe/Berlin", "--missed", "skip", "--type", "letter", "--tag", "t",
    )  # fmt: skip
    assert datetime.fromisoformat(made["next_run_at"]) > datetime.now(UTC)
    [row] = run.json("schedule", "list")
    assert (row["cron"], row["time_zone"], row["missed_runs"]) == (
        "0 8 * * 1-5",
        "Europe/Berlin",
        "skip",
    )
    assert "report" in run.out("schedule", "list")
    job = client.get_job(int(run.out("schedule", "run", "report")))
    assert (job.payload, job.job_type, job.tags) == ({"to": "boss"}, "letter", ["t"])
    assert run.json("schedule", "disable", "report")["next_run_at"] is None
    assert run.json("schedule", "enable", "report")["next_run_at"] is not None
    run.out("schedule", "delete", "report", "--yes")
    for command in (["run"], ["delete", "--yes"], ["enable"]):
        assert run("schedule", *command, "report").exit_code == 1
    assert run("schedule", "create", "bad", "mail", "every day").exit_code == 1


# Looking and upkeep ----------------------------------------------------------------------------


def test_doctor_says_by_its_exit_code_whether_all_is_well(run: Command, client: Client) -> None:
    client.run_maintenance()
    assert run("doctor").exit_code == 0
    fail_one(client, "mail", None)
    assert run("doctor").exit_code == 0
    assert run("doctor", "--strict").exit_code == 3
    fail_one(client)
    sick = run("doctor", "--json")
    assert sick.exit_code == 3
    [check] = [c for c in json.loads(sick.stdout) if c["check_name"] == "failed jobs"]
    assert check["status"] == "bad"
    assert "`pgbaton blocked`" in run("doctor").stdout


def test_stats(run: Command, client: Client) -> None:
    fail_one(client)
    client.enqueue_batch("mail", range(1234))
    mail, orders = run.json("stats")
    assert (mail["pending"], orders["dlq"]) == (1234, 1)
    assert "1,234" in run.out("stats", "mail")
    [key] = run.json("stats", "--keys")
    assert (key["singleton_key"], key["current_state"]) == ("k", "failed")
    assert "k" in run.out("stats", "orders", "--keys")
    assert "PB001" in run("stats", "nope").stderr


def test_workers_and_maintenance(run: Command, client: Client) -> None:
    assert run("worker", "list").stderr == "no workers\n"
    client.worker_heartbeat("w1", capacity=4)
    [worker] = run.json("worker", "list")
    assert (worker["worker_id"], worker["capacity"], worker["running_jobs"]) == ("w1", 4, 0)
    assert "w1" in run.out("worker", "list")
    assert run.json("maintain")["recovered"] == 0
    assert run.out("maintain").count("\n") == 1


def test_metrics_are_printed_once(run: Command, client: Client) -> None:
    client.enqueue_batch("mail", range(3))
    assert 'pgbaton_jobs{queue="mail",state="pending"} 3.0' in run.out("metrics", "--once")


def test_top_prints_one_frame_where_there_is_no_terminal(run: Command, client: Client) -> None:
    fail_one(client)
    client.worker_heartbeat("w1", capacity=4)
    frame = run.out("top")
    for seen in ("mail", "orders", "printer on fire", "w1", "q quit"):
        assert seen in frame


# How commands fail -----------------------------------------------------------------------------


def test_errors_are_a_sentence_a_hint_and_no_traceback(run: Command, client: Client) -> None:
    failed = run("enqueue", "orders", "{}")
    assert (failed.exit_code, failed.stdout) == (1, "")
    said = failed.stderr.splitlines()
    assert said[0].startswith("pgbaton: ")
    assert said[0].endswith("(PB005)")
    assert said[1].startswith("hint: ")
    for arguments in (
        ["stats", "--dsn", "postgresql://127.0.0.1:1/nothing"],
        ["stats", "--dsn", "no such thing"],
        ["enqueue", "mail", "@/no/such/file"],
        ["enqueue", "mail", '"\\u0000"'],
        ["worker", "run", "no.such:worker"],
        ["worker", "run", "pgbaton:Client"],
    ):
        failed = run(*arguments)
        assert (failed.exit_code, failed.stdout) == (1, "")
        assert failed.stderr.startswith("pgbaton: ")
        assert "Traceback" not in failed.stderr
    assert run("worker", "run", "no_colon").exit_code == 2


@pytest.mark.usefixtures("client")
def test_a_database_without_pgbaton_says_so(run: Command, empty_dsn: str) -> None:
    failed = run("stats", "--dsn", empty_dsn)
    assert (failed.exit_code, "run pgbaton install" in failed.stderr) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["queue", "drop", "mail"],
        ["job", "skip", "1"],
        ["job", "cancel", "1"],
        ["job", "delete", "1"],
        ["dlq", "purge"],
        ["schedule", "delete", "s"],
        ["install", "--replace"],
    ],
)
def test_what_destroys_asks_first(
    run: Command, client: Client, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = run(*arguments)
    assert (nobody.exit_code, "Pass --yes" in nobody.stderr) == (2, True)
    # A terminal, but for CliRunner, which has none.
    monkeypatch.setattr("pgbaton.cli._io._is_asked", lambda: True)
    refused = run(*arguments, input="n\n")
    assert (refused.exit_code, "nothing was changed" in refused.stderr) == (1, True)
    assert [info.queue for info in client.list_queues()] == ["mail", "orders"]


def test_what_a_job_says_does_not_steer_the_terminal(run: Command, client: Client) -> None:
    job_id = client.enqueue_job("orders", {"a": "\x1b[2J"}, singleton_key="\x1b]0;x\x07")
    [job] = client.claim_job_batch("worker", ["orders"])
    client.fail_job(job.id, "\x1b[31m[bold]red", job.lease_token)
    for command in (
        ["blocked"], ["job", "show", job_id], ["dlq", "list"], ["top"], ["job", "why", job_id],
        ["stats", "--keys"],
    ):  # fmt: skip
        printed = run.out(*command)
        assert "\x1b" not in printed
        assert "\x07" not in printed
    assert "[bold]red" in run.out("blocked")


# As a program ----------------------------------------------------------------------------------


def program(*arguments: str, **environment: str) -> Any:
    command = [str(Path(sys.executable).with_name("pgbaton")), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=False
    )


def test_the_environment_is_enough(client: Client, dsn: str) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(dsn)
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD",
             "dbname": "PGDATABASE"}  # fmt: skip
    environment = {names[name]: str(value) for name, value in parts.items() if name in names}
    client.enqueue_batch("mail", range(5))
    done = program("stats", "--json", PGBATON_DSN="", **environment)
    assert (done.returncode, json.loads(done.stdout)[0]["pending"]) == (0, 5)
    assert program("--version").stdout == program("version").stdout
    names_found = program(_PGBATON_COMPLETE="complete_bash", PGBATON_DSN="", **environment,
                          COMP_WORDS="pgbaton stats m", COMP_CWORD="2")  # fmt: skip
    assert "mail" in names_found.stdout
    named = {
        "_PGBATON_COMPLETE": "complete_bash",
        "COMP_WORDS": "pgbaton stats o",
        "COMP_CWORD": "2",
    }
    assert program(**named).stdout == "orders\n"
    assert program(**named | {"PGBATON_DSN": "host=127.0.0.1 port=1"}).stdout.strip() == ""


def test_a_name_is_whole_in_every_list(
    run: Command, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 80 columns, too: a name that was cut is no argument of the next command."""
    queue, key = "\N{CYRILLIC SMALL LETTER ZHE}" * 31, "\N{CYRILLIC SMALL LETTER TSE}" * 80
    client.create_fifo_queue(queue, max_attempts=1)
    fail_one(client, queue, key)
    client.pause_key(queue, key)
    lists = {
        "stats": (queue,),
        "stats --keys": (queue, key),
        "blocked": (queue, key),
        "queue list": (queue,),
        "queue paused": (queue, key),
        "job list": (queue, key),
        "dlq list": (queue, key),
        "audit": (queue, key),
    }
    for command, names in lists.items():
        assert all(name in run.out(*command.split()) for name in names), command
    monkeypatch.setattr("pgbaton.cli._io.out", lambda: Console(width=80, highlight=False))
    for command, names in lists.items():
        page = run.out(*command.split())
        assert max(map(cell_len, page.splitlines())) <= 80, command
        assert all(page.count(name[0]) >= len(name) for name in names), command
