"""How a worker runs: bursts, queues with a capacity of their own or that are missing, health."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from workers import Proxy, running, wait_for_state, wait_until

from pgbaton import Client, Counts, Fail, RunningJob, Snooze, UnknownQueue, Worker, task
from pgbaton._runtime.engine import Engine

HOUR = timedelta(hours=1)


@pytest.fixture
def worker(dsn: str, client: Client) -> Worker:
    return Worker(dsn, shutdown_timeout=timedelta(0))


def test_a_burst_ends_when_nothing_is_to_be_done(client: Client, worker: Worker) -> None:
    ran: list[Any] = []

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        ran.append(job.payload)
        match job.payload:
            case "fail":
                raise Fail
            case "again" if job.attempt == 1:
                raise ValueError
            case "later":
                raise Snooze(HOUR)
            case "more":
                client.enqueue_job("mail", "from a handler")

    client.enqueue_batch("mail", ["good", "fail", "again", "later", "more"])
    client.enqueue_job("mail", "due later", delay=HOUR)
    counts = worker.run(burst=True)
    assert counts == Counts(completed=4, failed=1, retried=1, given_back=1)
    assert sorted(ran) == sorted(
        ["good", "fail", "again", "again", "later", "more", "from a handler"]
    )
    assert worker.run(burst=True) == Counts()
    assert client.list_workers() == []


@pytest.mark.parametrize("listen", [True, False])
@pytest.mark.parametrize("capacity", [1, 3])
def test_a_burst_follows_the_keys(dsn: str, client: Client, listen: bool, capacity: int) -> None:
    worker = Worker(dsn, capacity=capacity, listen=listen)
    seen: list[Any] = []

    @worker.handler("orders")
    async def handle(job: RunningJob) -> None:
        seen.append((job.singleton_key, job.payload))

    client.enqueue_batch("orders", [1, 2, 3, 4, 5, 6], singleton_keys=["a", "b"] * 3)
    assert worker.run(burst=True) == Counts(completed=6)
    assert [n for key, n in seen if key == "a"] == [1, 3, 5]


def test_a_burst_waits_for_its_own_handlers_only(dsn: str, client: Client, worker: Worker) -> None:
    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        if job.payload == "slow":
            client.enqueue_job("mail", "last")

    client.enqueue_job("mail", "slow")
    with Client(dsn) as other:
        client.enqueue_job("mail", "of another", priority=200)
        [held] = other.claim_job_batch("another", ["mail"], batch_size=1)
        assert worker.run(burst=True) == Counts(completed=2)
        assert client.get_job(held.id).state == "active"


def test_a_burst_of_queues_with_their_own_capacity_goes_on_while_one_feeds_another(
    dsn: str, client: Client
) -> None:
    worker = Worker(dsn, queue_capacity={"mail": 1})

    @task("mail")
    def second(n: int) -> None:
        if n:
            first.using(singleton_key="a").enqueue(client, n - 1)

    @task("orders")
    def first(n: int) -> None:
        second.enqueue(client, n)

    worker.add(first, second)
    first.using(singleton_key="a").enqueue(client, 2)
    assert worker.run(burst=True).completed == 6


def test_a_burst_can_be_stopped(dsn: str, client: Client) -> None:
    worker = Worker(dsn, capacity=1)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        worker.stop()

    client.enqueue_batch("mail", range(5))
    assert worker.run(burst=True).completed < 5


def test_a_burst_inside_an_event_loop(client: Client, worker: Worker) -> None:
    @worker.handler("mail")
    async def handle(job: RunningJob) -> None: ...

    client.enqueue_job("mail")
    assert asyncio.run(worker.run_async(burst=True)) == Counts(completed=1)


def test_slow_jobs_of_a_queue_hold_up_no_other(dsn: str, client: Client) -> None:
    worker = Worker(dsn, capacity=2, queue_capacity={"mail": 3})
    go_on = threading.Event()
    at_once = 0
    most = 0
    lock = threading.Lock()

    @worker.handler("mail")
    def slow(job: RunningJob) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        go_on.wait(60)
        with lock:
            at_once -= 1

    @worker.handler("orders")
    def quick(job: RunningJob) -> None: ...

    slow_ids = client.enqueue_batch("mail", range(30))
    with running(worker):
        wait_until(lambda: most == 3)
        quick_ids = [client.enqueue_job("orders", n, singleton_key="a") for n in range(5)]
        wait_for_state(client, quick_ids[-1], "completed")
        assert {str(client.get_job(i).state) for i in slow_ids} == {"active", "pending"}
        known = {w.worker_id: w.capacity for w in client.list_workers()}
        assert known == {worker.worker_id: 2, f"{worker.worker_id} mail": 3}
        go_on.set()
        wait_for_state(client, slow_ids[-1], "completed")
    assert most == 3
    assert client.list_workers() == []


def test_a_queue_of_its_own_shares_the_lifespan(dsn: str, client: Client) -> None:
    worker = Worker(dsn, queue_capacity={"mail": 1})
    said: list[str] = []

    @worker.lifespan
    async def life() -> AsyncIterator[str]:
        said.append("begins")
        yield "state"
        said.append("ends")

    for queue in ("mail", "orders"):
        worker.handler(queue)(lambda job: job.state)
    ids = [client.enqueue_job("mail"), client.enqueue_job("orders", singleton_key="a")]
    with running(worker):
        for job_id in ids:
            wait_for_state(client, job_id, "completed")
    assert said == ["begins", "ends"]
    assert [client.get_job(job_id).result for job_id in ids] == ["state", "state"]


def test_one_queue_that_ends_by_itself_ends_alone(dsn: str, client: Client) -> None:
    worker = Worker(dsn, queue_capacity={"mail": 1})
    for queue in ("mail", "orders"):
        worker.handler(queue)(lambda job: None)
    with running(worker) as it:
        wait_until(lambda: len(client.list_workers()) == 2)
        assert worker._loop is not None
        worker._loop.call_soon_threadsafe(worker._engines[1].stop)
        wait_until(lambda: len(client.list_workers()) == 1)
        assert not it.has_ended


def test_a_worker_that_is_stopped_as_it_begins_is_not_listed(
    dsn: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its first heartbeat, and before it takes jobs."""
    begun = threading.Event()

    async def never(_: Engine) -> Any:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Engine, "_ordered_queues", never)
    worker = Worker(dsn)
    worker.handler("mail")(lambda job: None)
    with running(worker):
        assert begun.wait(30)
        assert len(client.list_workers()) == 1
    assert client.list_workers() == []


def test_capacities_are_checked(worker: Worker) -> None:
    with pytest.raises(ValueError, match=r"queue_capacity is \{'mail': 0\}: at least 1"):
        Worker("", queue_capacity={"mail": 0})
    other = Worker("", queue_capacity={"nope": 1})
    other.handler("mail")(lambda job: None)
    with pytest.raises(ValueError, match="queue_capacity names nope: there is no handler"):
        other.run()


@pytest.mark.parametrize("listen", [True, False])
@pytest.mark.parametrize("role", [None, "pgbaton_worker"])
def test_a_missing_queue_is_waited_for_while_the_others_go_on(
    dsn: str,
    client: Client,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    listen: bool,
    role: str | None,
) -> None:
    monkeypatch.setattr("pgbaton._runtime.engine.LOOK_AGAIN", 0.2)
    as_role = psycopg.conninfo.make_conninfo(dsn, options=f"-c role={role}") if role else dsn
    worker = Worker(as_role, listen=listen)
    for queue in ("mail", "later", "also later"):
        worker.handler(queue)(lambda job: None)
    good = client.enqueue_job("mail")
    with running(worker):
        wait_for_state(client, good, "completed")
        client.create_queue("later")
        wait_for_state(client, client.enqueue_job("later"), "completed")
        client.drop_queue("later", force=True)
        client.create_queue("also later")
        wait_for_state(client, client.enqueue_job("also later"), "completed")
        wait_for_state(client, client.enqueue_job("mail"), "completed")
    said = [r for r in caplog.records if r.__dict__.get("pgbaton_event") == "no queue"]
    assert all(r.levelno == logging.ERROR for r in said)
    assert [r for r in said if "has no queue also later: it waits" in r.getMessage()]
    assert len(said) == len({r.getMessage() for r in said})


def test_a_worker_of_missing_queues_only_waits_and_stops(
    dsn: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgbaton._runtime.engine.LOOK_AGAIN", 0.2)
    worker = Worker(dsn)
    worker.handler("later")(lambda job: None)
    with running(worker) as it:
        wait_until(lambda: client.list_workers())
        client.create_queue("later")
        wait_for_state(client, client.enqueue_job("later"), "completed")
        client.drop_queue("later", force=True)
        it.stop()
        it.join()


def test_a_burst_does_not_wait_for_a_missing_queue(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    worker.handler("nope")(lambda job: None)
    with pytest.raises(UnknownQueue):
        worker.run(burst=True)
    [record] = [r for r in caplog.records if r.__dict__.get("pgbaton_event") == "broken"]
    assert record.getMessage().endswith('error: queue "nope" does not exist (PB001)')


@pytest.mark.parametrize("burst", [True, False])
def test_missing_queues_are_made(dsn: str, client: Client, burst: bool) -> None:
    worker = Worker(dsn, create_queues=True)
    for queue in ("mail", "new", 'new "too"'):
        worker.handler(queue)(lambda job: worker.stop())
    if burst:
        assert worker.run(burst=True) == Counts()
    else:
        with running(worker):
            wait_until(lambda: len(client.list_queues()) == 4)
    assert {q.queue for q in client.list_queues()} == {"mail", "orders", "new", 'new "too"'}


def ask(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def free_port() -> int:
    proxy = Proxy()
    proxy.close()
    return proxy.port


def test_health(dsn: str, client: Client, free_port: int) -> None:
    proxy = Proxy()
    proxy.target = int(psycopg.conninfo.conninfo_to_dict(dsn)["port"] or 0)
    through = psycopg.conninfo.make_conninfo(dsn, host="127.0.0.1", port=proxy.port)
    worker = Worker(through, shutdown_timeout=timedelta(0))
    go_on = threading.Event()

    @worker.handler("mail")
    def slow(job: RunningJob) -> None:
        go_on.wait(60)

    async def run() -> None:
        await worker.run_async(health=f"127.0.0.1:{free_port}")

    thread = threading.Thread(target=asyncio.run, args=[run()])
    thread.start()
    try:
        wait_until(lambda: is_open(free_port))
        wait_until(lambda: ask(free_port, "/readyz") == (200, "ready"))
        wait_for_state(client, client.enqueue_job("mail"), "active")
        assert ask(free_port, "/healthz?x=1") == (200, "ok")  # while a handler runs
        assert ask(free_port, "/healthz", "HEAD") == (200, "")
        assert ask(free_port, "/", "GET")[0] == 404
        assert ask(free_port, "/healthz", "POST")[0] == 405
        proxy.target = None
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                " where datname = current_database() and application_name like 'pgbaton%'"
                " and pid <> pg_backend_pid() and backend_type = 'client backend'"
            )
        wait_until(lambda: ask(free_port, "/readyz") == (503, "not ready"))
        assert ask(free_port, "/healthz") == (200, "ok")  # a restart would not help
    finally:
        go_on.set()
        proxy.close()
        worker.stop(now=True)
        thread.join(60)
    assert not is_open(free_port)


def is_open(port: int) -> bool:
    try:
        ask(port, "/healthz")
    except (urllib.error.URLError, ConnectionError):
        return False
    return True


@pytest.mark.parametrize(
    ("address", "why"),
    [("8080", "pass host:port"), ("localhost:http", "pass host:port"), (":70000", "pass host:p")],
)
def test_a_wrong_address_for_health_is_refused(worker: Worker, address: str, why: str) -> None:
    worker.handler("mail")(lambda job: None)
    with pytest.raises(ValueError, match=why):
        worker.run(health=address)


def test_an_address_that_is_taken_is_named(worker: Worker) -> None:
    proxy = Proxy()
    worker.handler("mail")(lambda job: None)
    with pytest.raises(OSError, match=f"health cannot listen on 127.0.0.1:{proxy.port}: "):
        worker.run(health=f"127.0.0.1:{proxy.port}")
    proxy.close()


@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100_000, b"GET /heal"])
def test_health_bears_nonsense(
    dsn: str, client: Client, free_port: int, sent: bytes, unraisable: Callable[[], list[Any]]
) -> None:
    worker = Worker(dsn, shutdown_timeout=timedelta(0))
    worker.handler("mail")(lambda job: None)

    async def run() -> None:
        await worker.run_async(health=f"127.0.0.1:{free_port}")

    thread = threading.Thread(target=asyncio.run, args=[run()])
    thread.start()
    try:
        wait_until(lambda: is_open(free_port))
        with socket.create_connection(("127.0.0.1", free_port)) as caller:
            caller.sendall(sent)
            caller.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                caller.recv(100)
        assert ask(free_port, "/healthz") == (200, "ok")
    finally:
        worker.stop(now=True)
        thread.join(60)
    assert unraisable() == []


@pytest.fixture
def unraisable(caplog: pytest.LogCaptureFixture) -> Callable[[], list[Any]]:
    """What asyncio logged since nobody caught it."""
    return lambda: [r for r in caplog.records if r.name == "asyncio" and r.levelno >= 40]
