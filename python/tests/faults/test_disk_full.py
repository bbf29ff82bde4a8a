"""A disk that is full: calls fail and change nothing; with space again all goes on.

Who may mount makes a small tmpfs for a tablespace. Anybody else gives the server a limit to the
size of its files, which makes the same writes fail; make proof does both. The name of the test
says which it was.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from crashing import DURABLE
from invariants import assert_sound

from pgbaton import Client
from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install

MEGABYTE = 1 << 20


@dataclass
class Disk:
    """A database with little room; `full` is the SQLSTATE of a write for which there is none."""

    server: Server
    full: str
    make_room: Callable[[], object]
    dbname: str = "postgres"

    @property
    def dsn(self) -> str:
        return self.server.dsn(dbname=self.dbname)


@contextmanager
def small_tablespace() -> Iterator[Disk]:
    with temporary_server(settings=DURABLE) as server:
        place = server.home / "small"
        place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "pgbaton-test", str(place)]
        subprocess.run(mount, check=True)
        try:
            owner = server.data.stat()
            shutil.chown(place, owner.st_uid, owner.st_gid)
            ballast = place / "ballast"
            ballast.write_bytes(b"x" * 8 * MEGABYTE)
            with psycopg.connect(server.dsn(), autocommit=True) as admin:
                admin.execute(f"create tablespace small location '{place}'".encode())
                admin.execute("create database queue tablespace small")
            yield Disk(server, "53100", ballast.unlink, "queue")
            server.stop()
        finally:
            subprocess.run(["umount", str(place)], check=True)


@contextmanager
def small_files() -> Iterator[Disk]:
    with temporary_server(settings=DURABLE) as server:
        server.stop()
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20 * MEGABYTE, hard))
        try:
            server.start()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        # The limit ends with a restart, after which the server has another address.
        yield Disk(server, "XX000", lambda: restart(server))


def restart(server: Server) -> None:
    server.stop()
    server.start()


def may_mount() -> bool:
    """Root may not in most containers."""
    with tempfile.TemporaryDirectory() as place:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "pgbaton-test", place]
        done = subprocess.run(mount, capture_output=True, check=False)
        if done.returncode == 0:
            subprocess.run(["umount", place], check=True)
        return done.returncode == 0


# One of them for make check, both for make proof.
WAYS = [small_files]
if may_mount():
    WAYS = [small_tablespace, pytest.param(small_files, marks=pytest.mark.proof)]


def until_full(disk: Disk, enqueue: Callable[[int], list[int]]) -> int:
    """Enqueues until there is no room; returns how many jobs were confirmed."""
    confirmed = 0
    try:
        while True:
            confirmed += len(enqueue(confirmed))
    except psycopg.Error as error:
        if error.sqlstate != disk.full:
            raise
    return confirmed


@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_loses_nothing_and_goes_on_with_space(
    way: Callable[[], AbstractContextManager[Disk]],
) -> None:
    payload = os.urandom(50_000).hex()
    with way() as disk:
        install(disk.dsn)
        with Client(disk.dsn) as client, psycopg.connect(disk.dsn, autocommit=True) as conn:
            client.create_fifo_queue("orders", max_attempts=1)

            def two_large(n: int) -> list[int]:
                return client.enqueue_batch("orders", [payload, payload], [f"key {n}"] * 2)

            def fifty_small(n: int) -> list[int]:
                keys = [f"small {n + k}" for k in range(50)]
                return client.enqueue_batch("orders", list(range(50)), keys)

            confirmed = until_full(disk, two_large)
            assert conn.execute("select count(*) from pgbaton.job").fetchone() == (confirmed,)
            assert_sound(conn)
            # Until there is no room for a row either; a file of small rows ends much later.
            if way is small_tablespace:
                confirmed += until_full(disk, fifty_small)
                assert conn.execute("select count(*) from pgbaton.job").fetchone() == (confirmed,)
                assert_sound(conn)

        disk.make_room()
        with Client(disk.dsn) as client, psycopg.connect(disk.dsn, autocommit=True) as conn:
            done = 0
            while jobs := client.claim_job_batch("w", batch_size=100):
                verdicts = client.complete_jobs([job.id for job in jobs], jobs[0].lease_token)
                assert {one.verdict for one in verdicts} == {"ok"}
                done += len(verdicts)
            assert done == confirmed
            assert_sound(conn)
