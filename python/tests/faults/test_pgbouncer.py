"""PgBouncer in transaction mode: two clients take turns on its one connection to the server.

Needs the Debian package pgbouncer.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from crashing import is_up
from load import wait_until
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from test_contract import public_names
from whole_contract import call_everything, each_call

from pgbaton import Client, Worker

Connection = psycopg.Connection[Any]

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
CONFIG = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = plain
auth_file = {home}/users
pool_mode = transaction
default_pool_size = 1
max_client_conn = 10
ignore_startup_parameters = extra_float_digits
logfile = {home}/log
pidfile = {home}/pid
{more}
"""


def bouncer_version() -> tuple[int, ...]:
    assert PROGRAM, "pgbouncer is missing: apt-get install pgbouncer"
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"PgBouncer (\d+)\.(\d+)", said.stdout)
    assert found, said.stdout
    return tuple(map(int, found.groups()))


@contextmanager
def bouncer_to(dsn: str) -> Iterator[str]:
    """A PgBouncer with one server connection; gives the DSN that goes through it."""
    version = bouncer_version()
    server = conninfo_to_dict(dsn)
    home = Path(tempfile.mkdtemp(prefix="/tmp/pgbaton-bouncer-"))
    try:
        (home / "users").write_text(f'"{server["user"]}" "{server.get("password", "")}"\n')
        with psycopg.connect(dsn) as conn:
            listen = free_port()
            (home / "ini").write_text(
                CONFIG.format(
                    host=server["host"],
                    port=conn.info.port,
                    listen=listen,
                    home=home,
                    # From 1.21 on it follows prepared statements from client to client.
                    more="max_prepared_statements = 100" if version >= (1, 21) else "",
                )
            )
        account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if account:  # it refuses to run as root
            for path in (home, *home.iterdir()):
                os.chown(path, account.pw_uid, account.pw_gid)
        command = [str(PROGRAM), "--quiet", str(home / "ini")]
        with subprocess.Popen(
            command,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        ) as process:
            through = make_conninfo(dsn, host="127.0.0.1", port=listen, sslmode="disable")
            try:
                wait_until(lambda: is_up(through), "pgbouncer to answer")
                yield through
            finally:
                process.terminate()
    finally:
        shutil.rmtree(home)


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def through(dsn: str) -> Iterator[str]:
    with bouncer_to(dsn) as address:
        yield address


class InTurn:
    """Two connections; each call takes the other one."""

    def __init__(self, *connections: Connection) -> None:
        self._connections = list(connections)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        self._connections.reverse()
        yield self._connections[0]


def two_clients(dsn: str, prepare_threshold: int | None) -> Iterator[Client]:
    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": prepare_threshold}
    with psycopg.connect(dsn, **options) as one, psycopg.connect(dsn, **options) as other:
        yield Client(pool=InTurn(one, other))


def test_every_function_works_through_it(through: str) -> None:
    with each_call(lambda execute, *call: execute(*call)) as called:
        for client in two_clients(through, prepare_threshold=None):
            call_everything(client)
    assert called == public_names()
    with psycopg.connect(through) as conn:
        backends = conn.execute(
            "select count(*) from pg_stat_activity where datname = current_database()"
        ).fetchone()
    assert backends == (1,)


def test_the_client_of_a_dsn_prepares_nothing(through: str) -> None:
    with Client(through) as one, Client(through) as other:
        one.create_queue("mail")
        for _ in range(10):  # psycopg would prepare the sixth
            one.enqueue_job("mail")
            other.enqueue_job("mail")
        jobs = [*one.claim_job_batch("a", batch_size=10), *other.claim_job_batch("b")]
        assert len(jobs) == 20
        assert [one.complete_claim(t) for t in sorted({j.lease_token for j in jobs})] == [10, 10]


def test_prepared_statements_need_a_bouncer_that_knows_them(through: str) -> None:
    for client in two_clients(through, prepare_threshold=0):
        if bouncer_version() >= (1, 21):
            call_everything(client)
        else:
            # Both prepare their first statement under the same name, on the same connection.
            client.list_queues()
            with pytest.raises(psycopg.errors.DuplicatePreparedStatement):
                client.list_queues()


def test_a_worker_without_listen_finds_its_jobs_by_polling(through: str) -> None:
    with Client(through) as worker, Client(through) as producer:
        producer.create_queue("mail")
        lies_down = worker.wait_for_jobs("w", ["mail"], max_wait="5 seconds")
        assert 0 < lies_down.wait.total_seconds() <= 0.2
        assert worker.wait_for_jobs("w", ["mail"], max_wait="5 seconds").wait.seconds == 5
        job_id = producer.enqueue_job("mail")
        # It cannot listen: the wake-up would go to whoever has the server's connection.
        assert [job.id for job in worker.claim_job_batch("w", ["mail"])] == [job_id]


def test_a_transaction_keeps_its_connection(through: str) -> None:
    with (
        psycopg.connect(through, prepare_threshold=None) as conn,
        Client(through) as other,
    ):
        Client(connection=conn).create_queue("mail")
        Client(connection=conn).enqueue_job("mail")
        conn.rollback()
        assert other.list_queues() == []


@pytest.mark.parametrize("listens", [False, True], ids=["polling", "listening past it"])
def test_the_worker_runtime_works_through_it(dsn: str, through: str, listens: bool) -> None:
    """All its calls share one server connection with the producer's."""
    worker = Worker(through, listen=listens, listen_dsn=dsn)
    worker.handler("mail")(lambda job: job.payload)
    thread = threading.Thread(target=worker.run)
    with Client(through) as producer:
        producer.create_queue("mail")
        thread.start()
        for n in range(3):
            job_id = producer.enqueue_job("mail", n)
            wait_until(lambda job_id=job_id: producer.get_job(job_id).finished_at, "the job")
            assert producer.get_job(job_id).result == n
        worker.stop()
        thread.join()
