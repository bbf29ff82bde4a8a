"""pgbaton.testing and the plugin for pytest."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from test_joined_connections import url

from pgbaton import (
    AsyncClient,
    Client,
    Fail,
    Retry,
    RunningJob,
    Snooze,
    Worker,
    current_job,
    task,
)
from pgbaton.testing import advance_clock, assert_enqueued, clean, enqueued, run_jobs

DAY = timedelta(days=1)
done: list[Any] = []


@task("q")
def send(order_id: int, note: str = "") -> str:
    done.append(("send", order_id, current_job().attempt))
    return f"sent {order_id}"


@task("q", max_attempts=3)
def flaky(fails: int) -> None:
    if current_job().attempt <= fails:
        raise RuntimeError(f"attempt {current_job().attempt}")


@task("q")
async def send_async(order_id: int) -> None:
    await asyncio.sleep(0)
    done.append(("async", order_id))


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


@pytest.fixture(scope="module")
def test_dsn(server_dsn: str, template: str) -> Iterator[str]:
    """A database with `test` in its name and one queue."""
    name = f"{template}_test"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}")
    dsn = make_conninfo(server_dsn, dbname=name)
    with Client(dsn) as client:
        client.create_queue("q", retry_delay=timedelta(minutes=1))
        client.create_fifo_queue("fifo")
    yield dsn
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"drop database {name} with (force)")


@contextmanager
def own_transaction(dsn: str) -> Iterator[Any]:
    with psycopg.connect(dsn) as connection:
        yield connection
        connection.rollback()


@contextmanager
def autocommit(dsn: str) -> Iterator[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        try:
            yield connection
        finally:
            clean(connection)


@contextmanager
def client_of_dsn(dsn: str) -> Iterator[Any]:
    with Client(dsn) as client:
        try:
            yield client
        finally:
            clean(client)


@contextmanager
def session(dsn: str) -> Iterator[Any]:
    engine = create_engine(url(dsn, "+psycopg"), poolclass=NullPool)
    with Session(engine) as opened:
        yield opened
        opened.rollback()


@contextmanager
def session_in_a_savepoint(dsn: str) -> Iterator[Any]:
    """As SQLAlchemy's manual has it for test suites."""
    engine = create_engine(url(dsn, "+psycopg"), poolclass=NullPool)
    with engine.connect() as connection:
        transaction = connection.begin()
        with Session(connection, join_transaction_mode="create_savepoint") as opened:
            yield opened
        transaction.rollback()


WAYS = [own_transaction, autocommit, client_of_dsn, session, session_in_a_savepoint]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def committed_jobs(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        return connection.execute("select count(*) from pgbaton.jobs").fetchone()[0]


@each_way
def test_what_is_due_runs_here_and_now(way: Any, test_dsn: str) -> None:
    with way(test_dsn) as to:
        first = send.enqueue(to, 1)
        second = send.using(delay=DAY).enqueue(to, 2)
        third = send_async.enqueue(to, 3)
        ran = run_jobs(to, send, send_async)
        assert sorted(ran.completed) == [first, third]
        assert len(ran) == 2
        assert done == [("send", 1, 1), ("async", 3)]
        assert not run_jobs(to, send, send_async)
        advance_clock(to, DAY)
        assert run_jobs(to, send, send_async).completed == [second]
        by_id = {job.id: job for job in enqueued(to)}
        assert by_id[first].result == "sent 1"
        assert by_id[first].worker_id == "pgbaton.testing"
    assert committed_jobs(test_dsn) == 0
    with psycopg.connect(test_dsn) as connection:
        [(is_right,)] = connection.execute(
            "select abs(extract(epoch from pgbaton._now() - clock_timestamp())) < 1"
        ).fetchall()
        assert is_right


@each_way
def test_failures_are_raised_and_retries_run_as_time_goes_on(way: Any, test_dsn: str) -> None:
    with way(test_dsn) as to:
        job = flaky.enqueue(to, fails=2)
        with pytest.raises(RuntimeError, match="attempt 1"):
            run_jobs(to, flaky)
        assert not run_jobs(to, flaky)
        ran = run_jobs(to, flaky, advance=True, raise_errors=False)
        assert (ran.retried, ran.completed, ran.failed) == ([job], [job], [])
        lost = flaky.enqueue(to, fails=9)
        ran = run_jobs(to, flaky, advance=True, raise_errors=False)
        assert (ran.retried, ran.failed) == ([lost, lost], [lost])
        assert_enqueued(to, flaky, {"fails": 9}, state="failed", attempt=3)


@each_way
def test_what_handlers_raise(way: Any, test_dsn: str) -> None:
    told: list[Any] = []
    worker = Worker()

    @worker.handler("q")
    def handle(job: RunningJob) -> object:
        told.append((job.payload, job.state, job.attempt))
        match job.payload:
            case "retry":
                raise Retry("again", after=DAY)
            case "fail":
                raise Fail("never")
            case "snooze" if len(told) == 2:
                raise Snooze(DAY)
            case "object":
                return object()
        return None

    @worker.on_failed_for_good
    def tell(failure: Any) -> None:
        told.append(("failed for good", failure.message))

    @worker.around
    def count(job: RunningJob) -> Iterator[None]:
        told.append("before")
        yield
        told.append("after")

    with way(test_dsn) as to:
        client = to if isinstance(to, Client) else Client(connection=to)
        snoozed = client.enqueue_job("q", "snooze")
        ran = run_jobs(to, worker, state="state")
        assert ran.released == [snoozed]
        assert told == ["before", ("snooze", "state", 1)]
        ran = run_jobs(to, worker, advance=True)
        assert ran.completed == [snoozed]
        assert told[-1] == "after"
        client.enqueue_job("q", "retry")
        assert len(run_jobs(to, worker).retried) == 1
        client.enqueue_job("q", "fail")
        with pytest.raises(Fail):
            run_jobs(to, worker)
        assert told[-1] == ("failed for good", "never")
        client.enqueue_job("q", "object")
        with pytest.raises(AssertionError, match="no JSON value"):
            run_jobs(to, worker)


def test_what_a_failed_attempt_wrote_is_undone(test_dsn: str) -> None:
    with psycopg.connect(test_dsn) as connection:
        connection.execute("create table public.done (id int primary key)")
        worker = Worker()

        @worker.handler("q")
        def handle(job: RunningJob) -> None:
            connection.execute("insert into public.done values (%s)", [job.payload])
            connection.execute("insert into public.done values (1)")  # fails but for 2

        client = Client(connection=connection)
        client.enqueue_batch("q", [1, 2])
        ran = run_jobs(connection, worker, raise_errors=False)
        assert (len(ran.retried), len(ran.completed)) == (1, 1)
        assert connection.execute("select id from public.done order by 1").fetchall() == [
            (1,),
            (2,),
        ]
        connection.rollback()


def test_a_session_goes_on_after_a_failed_attempt(test_dsn: str) -> None:
    with session(test_dsn) as opened:

        @task("q")
        def broken() -> None:
            opened.execute(text("select 1 / 0"))

        broken.enqueue(opened)
        assert len(run_jobs(opened, broken, raise_errors=False).retried) == 1
        assert opened.execute(text("select 1")).scalar() == 1


def test_order_by_key(test_dsn: str) -> None:
    with own_transaction(test_dsn) as connection:
        client = Client(connection=connection)
        client.enqueue_batch("fifo", [1, 2, 3], singleton_keys=["a", "b", "a"])
        worker, seen = Worker(), []
        worker.handler("fifo")(lambda job: seen.append(job.payload))
        assert len(run_jobs(connection, worker).completed) == 3
        assert seen.index(1) < seen.index(3)


def test_bounds(test_dsn: str) -> None:
    with own_transaction(test_dsn) as connection:
        client = Client(connection=connection)
        worker = Worker()
        worker.handler("q", "known")(lambda job: client.enqueue_job("q", job_type="known"))
        client.enqueue_job("q", job_type="unknown")
        assert not run_jobs(connection, worker)  # as a worker leaves it to another
        client.enqueue_job("q", job_type="known")
        with pytest.raises(AssertionError, match="enqueue themselves"):
            run_jobs(connection, worker, limit=5)
        worker.handler("fifo")(print)
        with pytest.raises(LookupError, match="'unknown'"):
            run_jobs(connection, worker, limit=5)
        with pytest.raises(TypeError, match="one worker, or tasks"):
            run_jobs(connection)
        with pytest.raises(ValueError, match="no handler"):
            run_jobs(connection, Worker())


async def with_asyncpg(dsn: str, work: Any) -> None:
    connection = await asyncpg.connect(url(dsn))
    transaction = connection.transaction()
    await transaction.start()
    await work(connection)
    await transaction.rollback()
    await connection.close()


async def with_async_session(dsn: str, work: Any) -> None:
    engine = create_async_engine(url(dsn, "+asyncpg"), poolclass=NullPool)
    async with AsyncSession(engine) as opened:
        await work(opened)
        await opened.rollback()


async def with_async_connection(dsn: str, work: Any) -> None:
    connection = await psycopg.AsyncConnection.connect(dsn)
    await work(connection)
    await connection.rollback()
    await connection.close()


async def with_async_client(dsn: str, work: Any) -> None:
    async with AsyncClient(dsn) as client:
        await work(client)
        await clean(client)


@pytest.mark.parametrize(
    "way", [with_asyncpg, with_async_session, with_async_connection, with_async_client]
)
def test_without_blocking(way: Any, test_dsn: str) -> None:
    told: list[str] = []

    async def work(to: Any) -> None:
        worker = Worker()
        worker.add(send, send_async, flaky)

        @worker.around
        async def around(job: RunningJob) -> Any:
            told.append(f"before {job.job_type}")
            yield

        @worker.on_error
        async def on_error(failure: Any) -> None:
            told.append(failure.message.partition(" (")[0])

        await send.enqueue(to, 1)
        await send_async.enqueue(to, 2)
        await send.using(delay=DAY).enqueue(to, 3)
        await assert_enqueued(to, send, {"order_id": 3}, count=1)
        with pytest.raises(AssertionError, match="nearest"):
            await assert_enqueued(to, send, {"order_id": 4})
        ran = await run_jobs(to, worker)
        assert len(ran.completed) == 2
        assert sorted(told) == ["before send", "before send_async"]
        await advance_clock(to, DAY)
        assert len((await run_jobs(to, worker)).completed) == 1
        assert len(await enqueued(to, send)) == 2
        await flaky.enqueue(to, fails=1)
        with pytest.raises(RuntimeError, match="attempt 1"):
            await run_jobs(to, worker)
        assert told[-1] == "RuntimeError: attempt 1"
        assert len((await run_jobs(to, worker, advance=True)).completed) == 1

    asyncio.run(way(test_dsn, work))
    assert sorted(done) == [("async", 2), ("send", 1, 1), ("send", 3, 1)]
    assert committed_jobs(test_dsn) == 0


def test_async_handlers_within_a_loop_are_to_be_awaited(test_dsn: str) -> None:
    async def main() -> None:
        with own_transaction(test_dsn) as connection:
            send_async.enqueue(connection, 1)
            with pytest.raises(RuntimeError, match="await run_jobs"):
                run_jobs(connection, send_async)

    asyncio.run(main())


def test_async_hooks_are_to_be_awaited(test_dsn: str) -> None:
    worker = Worker()
    worker.add(send)

    @worker.around
    async def around(job: RunningJob) -> Any:
        yield

    with own_transaction(test_dsn) as connection:
        send.enqueue(connection, 1)
        with pytest.raises(RuntimeError, match="await run_jobs"):
            run_jobs(connection, worker)


def test_assert_enqueued_shows_what_differs(test_dsn: str) -> None:
    with own_transaction(test_dsn) as connection:
        client = Client(connection=connection)
        with pytest.raises(AssertionError, match="queue 'q' has no jobs"):
            assert_enqueued(client, "q")
        client.enqueue_job("q", {"id": 1, "lines": [{"sku": "a"}, {"sku": "b"}]}, tags=["x"])
        client.enqueue_job("q", {"id": 2}, priority=5)
        [job] = assert_enqueued(client, "q", {"id": 2}, priority=5, count=1)
        assert job.payload == {"id": 2}
        assert len(assert_enqueued(client, "q")) == 2
        assert_enqueued(client, "q", tags=("x",))
        with pytest.raises(AssertionError) as caught:
            assert_enqueued(client, "q", {"id": 1, "lines": [{"sku": "a"}, {"sku": "c"}]})
        said = str(caught.value).splitlines()
        assert said[0] == "none of the 2 jobs of queue 'q' fits:"
        assert "the nearest, job" in str(caught.value)
        assert [line.split() for line in said if line.startswith(("-", "+"))] == [
            ["-", '"sku":', '"c"'],
            ["+", '"sku":', '"b"'],
        ]
        with pytest.raises(AssertionError, match="1 instead of 3 of the 2 jobs"):
            assert_enqueued(client, "q", {"id": 2}, count=3)
        with pytest.raises(AssertionError, match="2 instead of 0"):
            assert_enqueued(client, "q", count=0)
        assert assert_enqueued(client, "q", {"id": 9}, count=0) == []
        with pytest.raises(TypeError, match="no field colour"):
            assert_enqueued(client, "q", colour="red")
        with pytest.raises(TypeError, match="client, connection or session"):
            assert_enqueued("x", "q")  # type: ignore[call-overload]


def test_a_database_that_is_in_use_is_left_alone(test_dsn: str) -> None:
    with psycopg.connect(test_dsn, dbname="postgres", autocommit=True) as connection:
        for call in (lambda: clean(connection), lambda: advance_clock(connection, DAY)):
            with pytest.raises(ValueError, match="have `test` in their name"):
                call()


def test_clean_leaves_what_there_is_to_work_with(test_dsn: str) -> None:
    from invariants import assert_sound

    with psycopg.connect(test_dsn, autocommit=True) as connection:
        client = Client(connection=connection)
        client.create_schedule("s", "q", "0 0 * * *")
        client.subscribe("q", "topic.*")
        client.enqueue_batch("fifo", [1, 2], singleton_keys=["a", "a"])
        client.enqueue_job("q", dedup_id="d", keys_if_undelivered=[["k"]])
        client.claim_job_batch("w", ["fifo", "q"])
        queues = client.list_queues()
        advance_clock(client, DAY)
        clean(client)
        assert client.list_queues() == queues
        assert enqueued(client) == []
        assert_sound(connection)
        client.enqueue_job("q", dedup_id="d")
        client.enqueue_job("fifo", singleton_key="a")
        assert len(client.claim_job_batch("w", ["fifo", "q"])) == 2
        clean(client)
        client.drop_schedule("s")
        client.unsubscribe("q", "topic.*")


PLUGIN = """
import pytest
from pgbaton import Client
from pgbaton.testing import run_jobs, assert_enqueued, enqueued
from pgbaton import task

@pytest.fixture(scope="session")
def pgbaton_setup():
    return lambda client: client.create_queue("mail")

@task("mail")
def send(to: str) -> None: ...

@pytest.mark.parametrize("round", [1, 2])
def test_rolled_back(pgbaton_client, pgbaton_connection, round):
    assert enqueued(pgbaton_client) == []
    send.enqueue(pgbaton_connection, "ada")
    assert_enqueued(pgbaton_client, send, {"to": "ada"}, count=1)
    assert len(run_jobs(pgbaton_client, send).completed) == 1

@pytest.mark.parametrize("round", [1, 2])
def test_committed(pgbaton_dsn, round):
    with Client(pgbaton_dsn) as client:
        assert enqueued(client) == []
        send.enqueue(client, "ada")

@pytest.mark.asyncio
async def test_asyncio(pgbaton_dsn):
    from pgbaton import AsyncClient
    async with AsyncClient(pgbaton_dsn) as client:
        await send.enqueue(client, "ada")
        assert len((await run_jobs(client, send)).completed) == 1
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", ["given", "embedded"])
def test_the_plugin(server: str, tmp_path: Path, server_dsn: str) -> None:
    (tmp_path / "test_app.py").write_text(PLUGIN)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n"
    )
    arguments = ["--pgbaton-dsn", server_dsn] if server == "given" else []
    loaded = [] if is_installed() else ["-p", "pytest_pgbaton"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *loaded, *arguments, "-p", "no:django"],
        cwd=tmp_path,
        env={name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert "5 passed" in done.stdout, done.stdout + done.stderr


def is_installed() -> bool:
    """Whether pytest finds the plugin by itself: what is installed may be an earlier one."""
    from importlib.metadata import entry_points

    return any(point.value == "pytest_pgbaton" for point in entry_points(group="pytest11"))


def test_the_plugin_imports_nothing_of_pgbaton() -> None:
    code = "import sys, pytest_pgbaton; sys.exit(any(m == 'pgbaton' for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
