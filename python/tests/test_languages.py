"""docs/languages.md: its programs for Node and Java do what the page says, in both languages."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
import pytest
from psql_pages import comparable, run, steps
from psycopg.conninfo import conninfo_to_dict

from pgbaton import Client, JobState, _assemble

ROOT = _assemble.source_root()
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "languages.md"
JAR = Path("/usr/share/java/postgresql.jar")
PATIENCE = 90
BEYOND_DOUBLES = 2**53 + 1
LEASE = 3
Conn = psycopg.Connection[Any]


def test_what_the_tests_need_is_here() -> None:
    """make tools installs the programs, make build/node the driver for Node."""
    for program in ("node", "java", "javac"):
        assert shutil.which(program), f"no {program}: run make tools"
    assert JAR.is_file(), "no JDBC driver: run make tools"
    assert (ROOT / "build" / "node" / "node_modules" / "pg").is_dir(), "run make build/node"


@dataclass(frozen=True)
class Language:
    name: str
    folder: Path
    """Has the programs, with a shorter lease, so that nobody waits ten seconds."""
    ends_with: int
    """Exit code after SIGTERM: the JVM has one of its own."""

    def command(self, program: str, dsn: str, *arguments: str) -> list[str]:
        if self.name == "node":
            file = str(self.folder / f"{program.lower()}.mjs")
            return ["node", file, node_url(dsn), *arguments]
        return ["java", "-cp", f"{JAR}:{self.folder}", program, jdbc_url(dsn), *arguments]


def node_url(dsn: str) -> str:
    given = conninfo_to_dict(dsn)
    user = f"{quote(given['user'])}:{quote(given.get('password', ''))}"
    return f"postgresql://{user}@{given['host']}:{given['port']}/{given['dbname']}"


def jdbc_url(dsn: str, **more: str) -> str:
    given = conninfo_to_dict(dsn)
    who = {"user": given["user"], "password": given.get("password", "")}
    address = f"jdbc:postgresql://{given['host']}:{given['port']}/{given['dbname']}"
    return f"{address}?{urlencode({**who, **more})}"


@pytest.fixture(scope="module", params=["node", "java"])
def language(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Language:
    folder = tmp_path_factory.mktemp(request.param)
    sources = [EXAMPLES / name for name in NAMES[request.param]]
    for source in sources:
        # NUL is in no text of PostgreSQL.
        text = source.read_text("utf-8").replace("nobody to", "nobody\\0 to")
        (folder / source.name).write_text(re.sub(r"LEASE = 30\b", f"LEASE = {LEASE}", text))
    if request.param == "node":
        (folder / "node_modules").symlink_to(ROOT / "build" / "node" / "node_modules")
        return Language("node", folder, 0)
    files = [folder / source.name for source in sources]
    subprocess.run(["javac", "-cp", JAR, "-d", folder, *files], check=True)
    return Language("java", folder, 128 + signal.SIGTERM)


NAMES = {"node": ["worker.mjs", "enqueue.mjs"], "java": ["Worker.java", "Enqueue.java"]}


@contextmanager
def working(language: Language, dsn: str) -> Iterator[subprocess.Popen[str]]:
    """A worker of the queue mail that sleeps, until the end of the block."""
    worker = subprocess.Popen(
        language.command("Worker", dsn, "mail"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with psycopg.connect(dsn, autocommit=True) as conn:
            until(lambda: is_asleep(conn))
        yield worker
    finally:
        worker.kill()
        worker.communicate()


def is_asleep(conn: Conn) -> bool:
    row = conn.execute("select count(*) from pgbaton.sleeper").fetchone()
    return row is not None and row[0] > 0


def stop(worker: subprocess.Popen[str]) -> str:
    worker.send_signal(signal.SIGTERM)
    out, error = worker.communicate(timeout=PATIENCE)
    return out + error


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def has_state(client: Client, job_id: int, state: JobState) -> bool:
    return client.get_job(job_id).state == state


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        client.create_fifo_queue("mail", retry_delay=timedelta(0), max_attempts=2)
        yield client


def test_jobs_are_done_in_order_and_failures_are_told(
    dsn: str, client: Client, conn: Conn, language: Language
) -> None:
    """Ids beyond what a JavaScript number can hold are not rounded."""
    conn.execute(f"alter sequence pgbaton.job_id_seq restart with {BEYOND_DOUBLES}")
    conn.execute(f"alter sequence pgbaton.lease_token_seq restart with {BEYOND_DOUBLES}")
    names = ["ann", 'bob\'s "ü" \\', None, "eve"]
    with working(language, dsn) as worker:
        jobs = [client.enqueue_job("mail", {"to": name}, singleton_key="k") for name in names]
        until(lambda: has_state(client, jobs[2], JobState.FAILED))
        client.skip_job("mail", jobs[2])
        until(lambda: has_state(client, jobs[3], JobState.COMPLETED))
        said = stop(worker)
        assert worker.returncode == language.ends_with, said
    assert jobs[0] >= BEYOND_DOUBLES
    assert said.splitlines()[0] == f"job {jobs[0]}, attempt 1: to ann"
    for job_id, name in zip(jobs[:2], names[:2], strict=True):
        result = {"sent": name} if language.name == "node" else name
        assert client.get_job(job_id).result == result
    failed = client.get_job(jobs[2])
    assert "nobody to send it to" in str(failed.error_message)
    assert failed.attempt == 2
    assert client.list_workers() == []


def test_a_job_that_makes_no_sense_fails_alone(
    dsn: str, client: Client, language: Language
) -> None:
    with working(language, dsn) as worker:
        payloads = [None, 5, "ann", [], ["to"], {}, {"to": None, "sleep": "long"}]
        jobs = [client.enqueue_job("mail", p, singleton_key=f"{n}") for n, p in enumerate(payloads)]
        until(lambda: all(has_state(client, job, JobState.FAILED) for job in jobs))
        good = client.enqueue_job("mail", {"to": "ann"}, singleton_key="k")
        until(lambda: has_state(client, good, JobState.COMPLETED))
        stop(worker)
        assert worker.returncode == language.ends_with


def test_leases_are_extended_and_cancelled_jobs_stop(
    dsn: str, client: Client, language: Language
) -> None:
    with working(language, dsn) as worker:
        job_id = client.enqueue_job("mail", {"to": "ann", "sleep": 3600}, singleton_key="k")
        until(lambda: has_state(client, job_id, JobState.ACTIVE))
        first = client.get_job(job_id).lease_until
        assert first is not None
        until(lambda: datetime.now(UTC) > first + timedelta(seconds=1))
        assert has_state(client, job_id, JobState.ACTIVE)
        assert client.get_job(job_id).attempt == 1
        client.cancel_jobs(job_ids=[job_id])
        until(lambda: has_state(client, job_id, JobState.STOPPED))
        stop(worker)


def test_what_was_taken_away_is_dropped_and_the_worker_goes_on(
    dsn: str, client: Client, language: Language
) -> None:
    with working(language, dsn) as worker:
        lost = client.enqueue_job("mail", {"to": "ann", "sleep": 1}, singleton_key="k")
        until(lambda: has_state(client, lost, JobState.ACTIVE))
        client.reset_running_jobs()
        until(lambda: has_state(client, lost, JobState.COMPLETED))
        next_one = client.enqueue_job("mail", {"to": "bob"}, singleton_key="k")
        until(lambda: has_state(client, next_one, JobState.COMPLETED))
        said = stop(worker)
    assert f"the outcome of job {lost} is dropped" in said


def test_a_worker_that_is_stopped_ends_its_job(
    dsn: str, client: Client, language: Language
) -> None:
    with working(language, dsn) as worker:
        running = client.enqueue_job("mail", {"to": "ann", "sleep": 1}, singleton_key="k")
        until(lambda: has_state(client, running, JobState.ACTIVE))
        left = client.enqueue_job("mail", {"to": "bob"}, singleton_key="k")
        stop(worker)
        assert worker.returncode == language.ends_with
    assert has_state(client, running, JobState.COMPLETED)
    assert has_state(client, left, JobState.PENDING)


def test_without_its_database_a_worker_ends_with_an_error(
    dsn: str, client: Client, conn: Conn, language: Language
) -> None:
    with working(language, dsn) as worker:
        conn.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        _, error = worker.communicate(timeout=PATIENCE)
        assert worker.returncode == 1, error


def test_values_of_all_kinds_are_enqueued(dsn: str, conn: Conn, language: Language) -> None:
    kind = " is a string" if language.name == "node" else ""
    assert output(language.command("Enqueue", dsn)) == [f"job 1{kind}", "4 more"]
    jobs = conn.execute(
        "select payload, singleton_key, tags, run_at - created_at, run_at from pgbaton.jobs"
        " order by id"
    ).fetchall()
    payload = {"to": "ann", "lines": ["bread", "wine"]}
    assert jobs[0][:3] == (payload, "order 17", ["letter", "urgent"])
    assert abs(jobs[0][3] - timedelta(seconds=1.5)) < timedelta(seconds=1)
    assert [job[0] for job in jobs[1:]] == [
        {"to": "bob"},
        ["a", "list"],
        'a text with "quotes"',
        None,
    ]
    assert {job[4] for job in jobs[1:]} == {datetime(2030, 1, 1, 12, tzinfo=UTC)}
    assert conn.execute("select name from orders").fetchall() == [("order 17",)]
    with Client(dsn) as client:
        assert client.get_job(1).max_attempts == 3  # a schedule of two waits


# The page ---------------------------------------------------------------------------------------


def test_the_session_of_the_page(dsn: str) -> None:
    found = steps(PAGE)
    printed = run(dsn, found)
    assert len(found) == 9
    for step, out in zip(found, printed, strict=True):
        assert "ERROR" not in out, step.statements + out
        if step.shown is not None:
            assert comparable(step.shown) == comparable(out)


def test_the_page_shows_the_programs() -> None:
    shown = re.findall(r"```(js|java)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert [kind for kind, _ in shown] == ["js", "java", "java", "js", "java"]
    for kind, part in shown:
        names = NAMES["node" if kind == "js" else "java"]
        programs = [without_indents((EXAMPLES / name).read_text("utf-8")) for name in names]
        assert any(without_indents(part) in program for program in programs), part


def without_indents(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def test_the_programs_say_how_to_start_them() -> None:
    shown = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    lines = {line for part in shown for line in part.splitlines()}
    said = set()
    for names in NAMES.values():
        for name in names:
            said |= set(re.findall(r"^//     (.*)$", (EXAMPLES / name).read_text("utf-8"), re.M))
    assert lines == said


NODE_TRAPS = """
import pg from 'pg'
const client = new pg.Client(process.argv[2])
await client.connect()
const code = (...query) => client.query(...query).then(() => 'taken', (error) => error.code)
console.log(await code("select pgbaton.enqueue_job('mail', $1)", [['a', 'list']]))
console.log(await code("select pgbaton.enqueue_job('mail', $1)", ['a text']))
console.log(await code("select pgbaton.enqueue_job('mail', $1)", [{ to: 'ann' }]))
console.log(await code('select pgbaton.extend_leases(array[$1], 1)', ['1']))
console.log(await code('select pgbaton.extend_leases($1, 1)', [['1']]))
const { rows: [job] } = await client.query("select id from pgbaton.claim_job_batch('w')")
const { rows: [sleep] } = await client.query("select wait from pgbaton.wait_for_jobs('w')")
console.log(typeof job.id, typeof sleep.wait)
await client.end()
"""
JAVA_TRAPS = """
import java.sql.*;

public class Traps {
    static Connection connection;

    public static void main(String[] args) throws Exception {
        connection = DriverManager.getConnection(args[0]);
        try_("select pgbaton.enqueue_job(?, ?)", "mail", "{}");
        try_("select pgbaton.enqueue_job(?, ?::jsonb)", "mail", "{}");
        try_("select pgbaton.enqueue_job(?, delay => ?)", "mail", "1 hour");
        try_("select pgbaton.create_queue(?, policy => ?)", "orders", "fifo");
        try_("select pgbaton.claim_job_batch(?, batch_size => ?)", "w", 1L);
        try_("select pgbaton.claim_job_batch(?, batch_size => ?)", "w", 1);
        try_("select jsonb '{}' ?? ?", "to");
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("select pgbaton.pause_queue('mail')");
        } catch (SQLException error) {
            System.out.println(error.getMessage());
        }
    }

    static void try_(String sql, Object... values) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
            statement.execute();
            System.out.println("taken");
        } catch (SQLException error) {
            System.out.println(error.getSQLState());
        }
    }
}
"""


@pytest.fixture
def plain_client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        client.create_queue("mail")
        yield client


def test_traps_of_node(dsn: str, plain_client: Client, tmp_path: Path) -> None:
    plain_client.enqueue_job("mail")
    (tmp_path / "node_modules").symlink_to(ROOT / "build" / "node" / "node_modules")
    (tmp_path / "traps.mjs").write_text(NODE_TRAPS)
    said = output(["node", str(tmp_path / "traps.mjs"), node_url(dsn)])
    no_json, no_function = "22P02", "42883"
    assert said == [no_json, no_json, "taken", no_function, "taken", "string object"]


def test_traps_of_java(dsn: str, plain_client: Client, tmp_path: Path) -> None:
    (tmp_path / "Traps.java").write_text(JAVA_TRAPS)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Traps.java"], check=True)
    java = ["java", "-cp", f"{JAR}:{tmp_path}", "Traps"]
    *codes, message = output([*java, jdbc_url(dsn)])
    no_function = "42883"
    cast_or_not = [no_function, "taken", no_function, no_function, no_function, "taken", "taken"]
    assert codes == cast_or_not
    assert message == "A result was returned when none was expected."
    assert plain_client.list_queues()[0].is_paused
    *codes, _ = output([*java, jdbc_url(dsn, stringtype="unspecified")])
    assert codes == ["taken", "taken", "taken", "taken", no_function, "taken", "taken"]


def output(command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
