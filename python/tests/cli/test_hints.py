"""What a command says to do when it fails can be done at the command line."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import psycopg
import pytest
from commands import Command

from pgbaton import Client, _assemble
from pgbaton.cli import _hints
from pgbaton.cli._app import COMMANDS, GROUPS, name_of

# Functions that hints name and that no command calls.
ONLY_SQL = {
    "ended_jobs_offset",
    "grant_queue",
    "mark_worker_unresponsive",
    "pg_drop_replication_slot",
    "pg_terminate_backend",
    "revoke_queue",
}
HINT = re.compile(r"hint = (.*?);\n", re.DOTALL)
TEXT = re.compile(r"'((?:[^']|'')*)'")
PROGRAMS = [name_of(c) for c in COMMANDS] + [
    f"{group} {name_of(command)}" for group, (_, commands) in GROUPS.items() for command in commands
]


def hints() -> list[str]:
    """All texts of the server's hints."""
    files = _assemble.function_files(_assemble.source_root())
    found = [part for file in files for part in HINT.findall(file.read_text("utf-8"))]
    texts = [text for part in found for text in TEXT.findall(part)]
    return [text.replace("''", "'").replace("%s", "7") for text in texts]


def advice() -> list[str]:
    """All texts of the checks that `doctor` shows."""
    folder = _assemble.source_root() / "functions" / "internal" / "stats"
    bodies = (
        file.read_text("utf-8").partition("comment on")[0]
        for file in folder.glob("_health_of_*.sql")
    )
    return [text for body in bodies for text in TEXT.findall(body)]


def reasons() -> list[str]:
    """All texts of why_not_running, as format() fills them in."""
    files = _assemble.function_files(_assemble.source_root())
    bodies = (
        file.read_text("utf-8").partition("comment on")[0] for file in files if "why" in file.stem
    )
    texts = [text.replace("''", "'") for body in bodies for text in TEXT.findall(body)]
    return [re.sub(r"%(\d\$)?s", "7", re.sub(r"%(\d\$)?L", "'it''s'", text)) for text in texts]


def test_every_function_that_is_named_becomes_a_command() -> None:
    texts = [*reasons(), *hints(), *advice()]
    named = {name for text in texts for name, _ in _hints.CALL.findall(text)}
    left = {n for text in texts for n, _ in _hints.CALL.findall(_hints.in_commands(text))}
    assert left == ONLY_SQL
    assert _hints.COMMANDS.keys() | ONLY_SQL == named


def test_every_argument_in_a_hint_becomes_an_option() -> None:
    assert any("=>" in hint for hint in hints())
    assert [hint for hint in hints() if "=>" in _hints.in_commands(hint)] == []


def test_the_commands_exist(run: Command) -> None:
    for command in _hints.COMMANDS.values():
        words, *options = re.split(" (?=--)", command)
        assert words in PROGRAMS
        said = run.out(*words.split(), "--help")
        assert all(option.split()[0] in said for option in options)
    for option, words in (("--skip-duplicates", "enqueue"), ("--force", "queue update")):
        assert option in _hints.OPTIONS.values()
        assert option in run.out(*words.split(), "--help")


def test_advice_asks_nobody_to_run_a_command_who_cannot() -> None:
    """pg_cron calls functions, and a function becomes a command here."""
    assert [text for text in [*hints(), *advice()] if "pg_cron" in text] == []


@pytest.mark.parametrize("text", ["w" * 10**6, "f(''" * 250_000, "f('a'," * 170_000, "('" * 10**6])
def test_a_long_error_takes_no_time(text: str) -> None:
    said = f"Job 7 failed after 3 attempts: {text}. Call pgbaton.retry_job('q', 7) to run it again."
    assert _hints.in_commands(said) == said.replace(
        "pgbaton.retry_job('q', 7)", "`pgbaton job retry 7`"
    )


def test_an_id_stays_in_the_command() -> None:
    assert _hints.in_commands("pgbaton.why_not_running(7) says what it is doing.") == (
        "`pgbaton job why 7` says what it is doing."
    )


def test_hints_of_the_database(run: Command, client: Client) -> None:
    said = run("stats", "nope").stderr
    assert "`pgbaton queue create`" in said
    assert "`pgbaton queue list`" in said
    job_id = client.enqueue_job("mail")
    assert f"`pgbaton job why {job_id}`" in run("job", "retry", job_id).stderr


def test_no_database_is_named(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGBATON_DSN", raising=False)
    monkeypatch.setenv("PGHOST", "/nowhere")
    said = run("stats").stderr.splitlines()
    assert said[1] == f"hint: {_hints.NO_DATABASE}"
    assert run("stats", "--dsn", "host=/nowhere").stderr.count("hint") == 0


def test_a_worker_that_names_no_database(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "two_workers.py").write_text(
        "from pgbaton import Worker\nwithout, own = Worker(), Worker('host=/nowhere')\n"
        "for worker in (without, own):\n    worker.handler('mail')(print)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("PGBATON_DSN", raising=False)
    monkeypatch.setenv("PGHOST", "/nowhere")
    lost = run("worker", "run", "two_workers:without")
    assert (lost.exit_code, lost.stderr.splitlines()[-1]) == (1, f"hint: {_hints.NO_DATABASE}")
    for arguments in (["two_workers:own"], ["two_workers:without", "--dsn", "host=/nowhere"]):
        lost = run("worker", "run", *arguments)
        assert (lost.exit_code, lost.stderr.count("hint")) == (1, 0)


def test_a_server_that_takes_no_writes(run: Command, client: Client, dsn: str) -> None:
    standby = f"{dsn} options='-c default_transaction_read_only=on'"
    said = run("queue", "pause", "mail", "--dsn", standby).stderr
    assert f"hint: {_hints.READ_ONLY}" in said


def test_a_role_without_rights_is_told_which_there_are(run: Command, dsn: str) -> None:
    said = run("queue", "create", "new", "--dsn", f"{dsn} options='-c role=pgbaton_worker'").stderr
    assert f"hint: {_hints.NO_RIGHTS}" in said
    named = set(re.findall("pgbaton_[a-z]+", _hints.NO_RIGHTS))
    with psycopg.connect(dsn) as conn:
        roles = conn.execute("select rolname from pg_roles where rolname ~ '^pgbaton_'").fetchall()
    assert named <= {role for (role,) in roles}


@pytest.mark.parametrize("command", ["metrics", "serve"])
def test_a_port_that_is_taken(run: Command, client: Client, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        failed = run(command, "--port", port)
    assert failed.exit_code == 1
    assert failed.stderr.splitlines()[-2:] == [
        f"pgbaton: port {port} of 127.0.0.1 is in use",
        "hint: Pass another --port, or stop what has it.",
    ]
