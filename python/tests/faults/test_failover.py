"""Fail-over to a streaming standby: workers go on there, and what was confirmed is there."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from crashing import kill_server
from invariants import assert_sound
from load import Load, wait_until
from proof import record
from standbys import PRIMARY, either, promote, standby_of

from pgbaton import Client
from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install


@pytest.fixture
def primary() -> Iterator[Server]:
    with temporary_server(settings=PRIMARY) as server:
        install(server.dsn())
        yield server


def test_workers_go_on_at_the_standby_and_nothing_confirmed_is_lost(primary: Server) -> None:
    with standby_of(primary, synchronous=True) as standby:
        dsn = either(primary, standby)
        with Client(dsn) as client:
            client.create_queue("mail")
            client.create_fifo_queue("orders")
        load = Load(dsn, reconnects=True)
        with ThreadPoolExecutor(4) as threads:
            running = [threads.submit(load.produce, n) for n in range(2)]
            running += [threads.submit(load.work, n) for n in range(2)]
            wait_until(lambda: len(load.completed) > 200, "jobs to be completed")
            kill_server(primary)
            promote(standby)
            before = len(load.completed)
            wait_until(lambda: len(load.completed) > before + 200, "workers to go on")
            load.stop.set()
            for one in running:
                one.result()
        with psycopg.connect(standby.dsn(), autocommit=True) as conn:
            load.check(conn)
            assert_sound(conn)
    record("failover", crashes_injected=1)


def test_who_looks_may_look_at_a_standby(primary: Server) -> None:
    with standby_of(primary, synchronous=True) as standby:
        with psycopg.connect(primary.dsn(), autocommit=True) as admin:
            admin.execute("alter role postgres set synchronous_commit = remote_apply")
        with Client(primary.dsn()) as client:
            client.create_queue("mail")
            job_id = client.enqueue_job("mail", [1])
        with Client(standby.dsn()) as reader:
            assert reader.get_job(job_id).payload == [1]
            assert reader.queue_stats("mail")[0].pending == 1
            assert (reader.wake_ups(), reader.job_totals()[0].lease_losses) == (0, 0)
            assert "claimable" in reader.why_not_running(job_id)
            assert [q.queue for q in reader.list_queues()] == ["mail"]
            assert {check.status for check in reader.health()} <= {"ok", "warn", "bad"}
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                reader.claim_job_batch("w")
