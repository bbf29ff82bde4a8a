"""Waking up, polling, and lost connections."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from workers import Proxy, Running, running, terminate_all, wait_for_state, wait_until

from pgbaton import AsyncClient, Client, RunningJob, Worker
from pgbaton._runtime import tender
from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install

NEVER = timedelta(days=1)


class Home:
    """A server that can be stopped and started, and the address that stays."""

    def __init__(self, server: Server, proxy: Proxy) -> None:
        self._server, self._proxy = server, proxy
        self._proxy.target = self._port()
        self.dsn = make_conninfo(server.dsn(tcp=True), port=proxy.port)

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        self._server.start()
        self._proxy.target = self._port()

    def _port(self) -> int:
        return int(conninfo_to_dict(self._server.dsn(tcp=True))["port"])


@pytest.fixture
def home() -> Iterator[Home]:
    proxy = Proxy()
    with temporary_server() as server:
        install(server.dsn())
        yield Home(server, proxy)
    proxy.close()


def is_asleep(conn: psycopg.Connection[Any]) -> bool:
    return conn.execute("select from pgbaton.sleeper").fetchone() is not None


def test_a_sleeping_worker_is_woken(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    """It would look again tomorrow."""
    worker = Worker(dsn, poll_every=NEVER)
    worker.handler("mail")(lambda job: None)
    worker.handler("orders")(lambda job: None)
    with running(worker):
        for _ in range(3):
            wait_until(lambda: is_asleep(conn))
            wait_for_state(client, client.enqueue_job("mail"), "completed")
        ids = client.enqueue_batch("orders", range(3), ["a", "a", "a"])
        for job_id in ids:
            wait_for_state(client, job_id, "completed")


LIBPQ = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}


def test_without_a_dsn_the_environment_of_libpq_says_where(
    dsn: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in conninfo_to_dict(dsn).items():
        monkeypatch.setenv(LIBPQ.get(name, "PGDATABASE"), str(value))
    worker = Worker(poll_every=NEVER)
    worker.handler("mail")(lambda job: job.payload)
    with running(worker), psycopg.connect(dsn, autocommit=True) as conn:
        wait_until(lambda: is_asleep(conn))
        wait_for_state(client, client.enqueue_job("mail", "wake up"), "completed")


def test_a_worker_wakes_up_for_what_is_due_later(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    """Among it its own retries."""
    worker = Worker(dsn, poll_every=NEVER)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        if job.attempt == 1:
            raise ValueError("once more")

    client.update_queue("mail", retry_delay=timedelta(seconds=0.2))
    later = client.enqueue_job("mail", delay=timedelta(seconds=0.2))
    with running(worker):
        wait_for_state(client, later, "completed")
        wait_until(lambda: is_asleep(conn))
        meanwhile = client.enqueue_job("mail", delay=timedelta(seconds=0.2))
        wait_for_state(client, meanwhile, "completed")
    assert client.get_job(later).retry_count == 1


@pytest.mark.parametrize("hears_nothing", [False, True])
def test_polling_finds_work_without_notifications(
    dsn: str, client: Client, conn: psycopg.Connection[Any], hears_nothing: bool
) -> None:
    """Without listening at all, and with a listening connection that cannot be made."""
    if hears_nothing:
        worker = Worker(dsn, listen_dsn="host=/nowhere dbname=x")
    else:
        worker = Worker(dsn, listen=False, poll_every=timedelta(seconds=0.1))
    worker.handler("orders")(lambda job: None)
    with running(worker):
        wait_until(worker_is_known(client, worker))
        for job_id in client.enqueue_batch("orders", range(3), ["a", "a", "a"]):
            wait_for_state(client, job_id, "completed")
        wait_until(lambda: is_asleep(conn) is hears_nothing)


def worker_is_known(client: Client, worker: Worker) -> Any:
    return lambda: worker._engines and worker._engines[0]._database


def test_a_worker_outlives_its_connections(
    dsn: str, client: Client, conn: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """All of them, while a handler runs and while it sleeps."""
    go_on = threading.Event()
    worker = Worker(dsn, poll_every=NEVER)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        if job.payload == "wait":
            go_on.wait()

    job_id = client.enqueue_job("mail", "wait")
    with caplog.at_level(logging.INFO, "pgbaton.worker"), running(worker):
        wait_for_state(client, job_id, "active")
        client.close()
        conn.close()
        terminate_all(dsn)
        go_on.set()
        with Client(dsn) as again:
            wait_for_state(again, job_id, "completed")
            assert again.get_job(job_id).attempt == 1
            wait_until(lambda: len(listening(dsn)) == 1)
            terminate_all(dsn)
        with Client(dsn) as again:
            wait_for_state(again, again.enqueue_job("mail", "now"), "completed")
    assert "has its database again" in caplog.text


def listening(dsn: str) -> list[Any]:
    with psycopg.connect(dsn) as conn:
        return conn.execute(
            "select pid from pg_stat_activity where datname = current_database()"
            " and application_name = 'pgbaton listener'"
        ).fetchall()


def test_a_worker_outlives_a_restart_of_the_server(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    """The server is away while the handler ends; the outcome is told when it is back."""
    go_on = threading.Event()
    worker = Worker(home.dsn, poll_every=NEVER)

    @worker.handler("mail")
    def handle(job: RunningJob) -> str:
        go_on.wait()
        return "told"

    with Client(home.dsn) as client:
        client.create_queue("mail")
        first = client.enqueue_job("mail")
    with caplog.at_level(logging.INFO, "pgbaton.worker"), running(worker):
        with Client(home.dsn) as client:
            wait_for_state(client, first, "active")
        home.stop()
        go_on.set()
        wait_until(lambda: "has no database" in caplog.text)
        home.start()
        with Client(home.dsn) as client:
            wait_for_state(client, first, "completed")
            assert (client.get_job(first).result, client.get_job(first).attempt) == ("told", 1)
            wait_for_state(client, client.enqueue_job("mail"), "completed")


def test_a_worker_stops_while_the_database_is_away(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(home.dsn, poll_every=timedelta(seconds=0.1), shutdown_timeout=timedelta(0))
    worker.handler("mail")(lambda job: None)
    with Client(home.dsn) as client:
        client.create_queue("mail")
    with running(worker) as it, Client(home.dsn) as client:
        wait_until(lambda: any(w.asleep_at for w in client.list_workers()))
        home.stop()
        wait_until(lambda: "has no database" in caplog.text)
        it.stop()
        it.join()


def test_a_server_that_became_a_standby_is_left(
    server_dsn: str, dsn: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """It takes no writes any more; the connection is dropped, to find the primary."""
    worker = Worker(dsn, poll_every=timedelta(seconds=0.1))
    worker.handler("mail")(lambda job: None)
    name = client._own._open().info.dbname  # type: ignore[union-attr]
    setting = f"alter database {name} set default_transaction_read_only ="
    with running(worker), psycopg.connect(server_dsn, autocommit=True) as admin:
        wait_for_state(client, client.enqueue_job("mail"), "completed")
        admin.execute(f"{setting} on".encode())
        terminate_all(dsn)
        wait_until(lambda: "in a read-only transaction" in caplog.text)
        admin.execute(f"{setting} off".encode())
        with Client(dsn) as again:
            wait_for_state(again, again.enqueue_job("mail"), "completed")


def test_a_sleeping_worker_calls_maintenance(dsn: str, client: Client) -> None:
    worker = Worker(dsn, poll_every=NEVER)
    worker.handler("mail")(lambda job: None)
    client.create_schedule("minutely", "mail", "* * * * *")
    with psycopg.connect(dsn) as conn:
        conn.execute("update pgbaton.schedule set next_run_at = now() - interval '1 second'")
    with running(worker):
        wait_until(lambda: client.queue_stats("mail")[0].completed == 1)


def test_polling_finds_work_that_nobody_told(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    """It listens, but who enqueues sees no sleeper."""
    worker = Worker(dsn, poll_every=timedelta(seconds=0.2), maintenance=False)
    worker.handler("mail")(lambda job: None)
    with running(worker):
        for _ in range(3):
            wait_until(lambda: is_asleep(conn))
            with conn.transaction():
                conn.execute("delete from pgbaton.sleeper")
                [(job_id,)] = conn.execute("select pgbaton.enqueue_job('mail')").fetchall()
            wait_for_state(client, job_id, "completed")


def test_a_worker_that_looks_for_work_takes_back_lost_jobs(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    """When nobody else does, and without run_maintenance."""
    worker = Worker(dsn, poll_every=timedelta(seconds=0.1), maintenance=False)
    worker.handler("mail")(lambda job: None)
    job_id = client.enqueue_job("mail")
    client.claim_job_batch("gone", ["mail"])
    with running(worker):
        wait_until(lambda: is_asleep(conn))
        conn.execute("update pgbaton.span set lease_until = now() - interval '1 second'")
        make_older(conn, "sweep")
        wait_for_state(client, job_id, "completed")
    assert client.get_job(job_id).attempt == 2


def make_older(conn: psycopg.Connection[Any], kind: str) -> None:
    conn.execute(
        "update pgbaton.watermark set value = value - 60 * 1000 * 1000,"
        " recorded_at = recorded_at - interval '1 minute' where kind = %s",
        [kind],
    )


def test_a_sleeping_worker_looks_with_one_call(
    dsn: str, client: Client, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    call = AsyncClient._call

    async def noted(self: AsyncClient, function: str, *rest: Any) -> Any:
        calls.append(function)
        return await call(self, function, *rest)

    worker = Worker(dsn, poll_every=timedelta(seconds=0.05), maintenance=False)
    worker.handler("mail")(lambda job: None)
    monkeypatch.setattr(AsyncClient, "_call", noted)
    with running(worker):
        wait_until(lambda: calls.count("wait_for_jobs") >= 10)
        assert calls.count("claim_job_batch") == 1
        wait_for_state(client, client.enqueue_job("mail"), "completed")


def test_of_many_workers_one_does_the_upkeep_of_a_minute(
    dsn: str, client: Client, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When that one has gone, another one does."""
    monkeypatch.setattr(tender, "seconds_to_maintenance", lambda now: 0.05)
    asked: list[str] = []
    did: list[str] = []
    maintain = tender.Tender._maintain
    call = AsyncClient.run_maintenance

    async def noted(self: AsyncClient, *args: Any, **options: Any) -> dict[str, Any]:
        done = await call(self, *args, **options)
        if "skipped" not in done:
            did.append(who.get())
        return done

    async def noted_ask(self: tender.Tender) -> None:
        who.set(self._settings.worker_id)
        await maintain(self)
        asked.append(who.get())

    who: ContextVar[str] = ContextVar("who")
    monkeypatch.setattr(AsyncClient, "run_maintenance", noted)
    monkeypatch.setattr(tender.Tender, "_maintain", noted_ask)

    def all_have_asked(workers: Iterable[str]) -> None:
        """Since now."""
        before = len(asked)
        wait_until(lambda: set(workers) <= set(asked[before:]))

    started = int(time.time() // 60)
    with ExitStack() as stack:
        left: dict[str, Running] = {}
        for _ in range(4):
            worker = Worker(dsn, poll_every=NEVER)
            worker.handler("mail")(lambda job: None)
            left[worker.worker_id] = stack.enter_context(running(worker))
        all_have_asked(left)
        for minute in range(1, 4):
            gone = left.pop(did[-1])
            gone.stop()
            gone.join()
            before = len(did)
            make_older(conn, "maintenance")
            wait_until(lambda before=before: len(did) > before)
            all_have_asked(left)
            assert did[before] in left
            begun_meanwhile = int(time.time() // 60) - started
            assert minute < len(did) <= minute + 1 + begun_meanwhile


def test_broken_maintenance_stops_no_jobs(own_dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    with psycopg.connect(own_dsn) as admin:
        admin.execute("drop function pgbaton._run_schedules")
    worker = Worker(own_dsn)
    worker.handler("mail")(lambda job: None)
    with Client(own_dsn) as client:
        client.create_queue("mail")
        with running(worker):
            wait_until(lambda: "run_maintenance failed" in caplog.text)
            wait_for_state(client, client.enqueue_job("mail"), "completed")


def test_a_queue_that_is_dropped_is_missed_while_the_others_go_on(
    dsn: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(dsn)
    client.create_queue("other")
    worker.handler("mail")(lambda job: None)
    worker.handler("other")(lambda job: None)
    with running(worker):
        wait_for_state(client, client.enqueue_job("other"), "completed")
        client.drop_queue("other", force=True)
        wait_for_state(client, client.enqueue_job("mail"), "completed")
        wait_until(lambda: "has no queue other" in caplog.text)
        wait_for_state(client, client.enqueue_job("mail"), "completed")


@pytest.mark.parametrize("ties", [5, 13])
def test_a_claim_that_loses_to_other_transactions_is_made_again(
    dsn: str,
    client: Client,
    conn: psycopg.Connection[Any],
    caplog: pytest.LogCaptureFixture,
    ties: int,
) -> None:
    """As where SERIALIZABLE is the default. A few times it is no news, and no database is lost."""
    worker = Worker(make_conninfo(dsn, application_name="tied"), poll_every=NEVER)
    worker.handler("mail")(lambda job: None)
    job_id = client.enqueue_job("mail")
    (before,) = conn.execute(
        "select pg_get_functiondef('pgbaton._is_tended'::regproc)"
    ).fetchone() or ("",)
    conn.execute("create sequence public.tie")
    conn.execute(
        f"""
        create or replace function pgbaton._is_tended(at timestamptz) returns boolean
        language plpgsql volatile as $$
        begin
            if current_setting('application_name') = 'tied' and nextval('public.tie') <= {ties} then
                raise exception using errcode = '40001', message = 'a tie';
            end if;
            return false;
        end
        $$
    """.encode()
    )
    try:
        with caplog.at_level(logging.INFO, "pgbaton.worker"), running(worker):
            wait_for_state(client, job_id, "completed")
    finally:
        conn.execute(before.encode())
        conn.execute("drop sequence public.tie")
    assert "has no database" not in caplog.text
    assert ("is slower than others each time: a tie" in caplog.text) is (ties > 10)
