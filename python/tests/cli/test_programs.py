"""Commands that go on until they are stopped, and what people see in a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest

from pgbaton import Client, JobState

PROGRAM = str(Path(sys.executable).with_name("pgbaton"))
WORKER = """
from pgbaton import Worker

worker = Worker()

@worker.handler("mail")
def send(job):
    print(f"sent {job.payload}\\n", end="", flush=True)
    return {"sent": True}

no_worker = 1
"""


@contextmanager
def program(*arguments: str, cwd: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A program that is stopped as Ctrl-C does, and must end by that."""
    with subprocess.Popen(
        [PROGRAM, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
    ) as running:  # fmt: skip
        try:
            yield running
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 0
        finally:
            running.kill()


def test_a_worker_runs_until_it_is_stopped(client: Client, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(WORKER)
    job_id = client.enqueue_job("mail", {"to": "you"})
    with program("worker", "run", "shop:worker", cwd=tmp_path) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "sent {'to': 'you'}\n"
    job = client.get_job(job_id)
    assert (job.state, job.result) == (JobState.COMPLETED, {"sent": True})

    (tmp_path / "broken.py").write_text("raise ValueError('on line 1')")
    for name, said in (
        ("shop:no_worker", "int, not a Worker"),
        ("shop:nothing", "missing"),
        ("broken:worker", 'File "'),
    ):
        wrong = subprocess.run(
            [PROGRAM, "worker", "run", name],
            capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
        assert (wrong.returncode, said in wrong.stderr) == (1, True)


BURST = """
from pgbaton import Fail, Worker

worker = Worker()

@worker.handler("mail")
def send(job):
    if job.payload == "fail":
        raise Fail("no")
"""


@pytest.mark.parametrize(
    ("payloads", "code", "said"),
    [
        ([], 0, "nothing to do\n"),
        ([1, 2], 0, "completed 2\n"),
        ([1, "fail"], 1, "completed 1 failed 1\n"),
    ],
)
def test_a_burst_says_by_its_exit_code_whether_a_job_failed(
    client: Client, tmp_path: Path, payloads: list[Any], code: int, said: str
) -> None:
    (tmp_path / "shop.py").write_text(BURST)
    client.enqueue_batch("mail", payloads)
    done = subprocess.run(
        [PROGRAM, "worker", "run", "shop:worker", "--burst", "--log", "error"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert done.stderr.endswith(said)


def test_a_health_address_that_is_none_is_refused_in_a_sentence(
    client: Client, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(BURST)
    done = subprocess.run(
        [PROGRAM, "worker", "run", "shop:worker", "--health", "nowhere"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "pass host:port" in done.stderr
    assert "Traceback" not in done.stderr


def test_upkeep_goes_on_until_it_is_stopped(client: Client) -> None:
    client.create_queue("short", lease="1 microsecond")
    client.enqueue_job("short")
    with program("maintain", "--every", "0.1") as upkeep:
        assert upkeep.stdout is not None
        client.claim_job_batch("gone", ["short"])
        while "recovered 1" not in upkeep.stdout.readline():
            pass


def test_upkeep_goes_on_after_a_lost_connection(client: Client, dsn: str) -> None:
    client.create_queue("short", lease="1 microsecond", max_attempts=10)
    client.enqueue_job("short")
    with program("maintain", "--every", "0.1") as upkeep, psycopg.connect(dsn) as conn:
        conn.autocommit = True
        assert upkeep.stdout is not None
        assert upkeep.stderr is not None
        first_done = None
        for _ in range(3):
            client.claim_job_batch("gone", ["short"])
            while "recovered 1" not in upkeep.stdout.readline():
                pass
            first_done = first_done or conn.execute("select clock_timestamp()").fetchone()
            while not ends_upkeep(conn, first_done):
                pass
            assert "has no database" in upkeep.stderr.readline()


def ends_upkeep(conn: psycopg.Connection[Any], first_done: tuple[Any, ...] | None) -> bool:
    """Ends the session that does it; that of the first call was closed, but may be there still."""
    row = conn.execute(
        "select count(pg_terminate_backend(pid, 60000)) from pg_stat_activity"
        " where query like '%%run_maintenance%%' and pid <> pg_backend_pid()"
        " and datname = current_database() and backend_start > %s",
        first_done,
    ).fetchone()
    return row == (1,)


def in_terminal(*arguments: str, answer: bytes | None = None) -> tuple[int, str]:
    """Exit code and all that is seen; `answer` is typed when a question is asked."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [PROGRAM, *arguments],
        stdin=its, stdout=its, stderr=its, start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    ) as running:  # fmt: skip
        os.close(its)
        seen = ""
        until = monotonic() + 60
        while select.select([ours], [], [], until - monotonic())[0]:
            try:
                seen += os.read(ours, 65536).decode(errors="replace")
            except OSError:  # the last one closed it
                break
            if answer and "[y/N]" in seen:
                os.write(ours, answer)
                answer = None
    os.close(ours)
    return running.returncode, seen


def test_a_question_is_answered(client: Client) -> None:
    code, seen = in_terminal("queue", "drop", "mail", answer=b"n\n")
    assert (code, "Drop queue mail?" in seen) == (1, True)
    assert len(client.list_queues()) == 2
    assert in_terminal("queue", "drop", "mail", answer=b"y\n")[0] == 0
    assert len(client.list_queues()) == 1


@pytest.mark.usefixtures("client")
def test_long_work_shows_a_bar(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("{}\n" * 3000)
    code, seen = in_terminal("enqueue", "mail", "--lines", str(tmp_path / "lines"))
    assert (code, "9000/9000" in seen) == (0, True)
    assert "3,000 enqueued" in seen


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_letters_that_the_terminal_lacks_are_escaped(client: Client, encoding: str) -> None:
    payload = {"to": "Käse … 😀"}
    job_id = client.enqueue_job("mail", payload)
    outputs = {}
    for options in ([], ["--json"]):
        told = subprocess.run(
            [PROGRAM, "job", "show", str(job_id), *options],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        outputs[len(options)] = told.stdout.decode(encoding)
    assert r"\u2026 \ud83d\ude00" in outputs[0]
    assert json.loads(outputs[1])["payload"] == payload
