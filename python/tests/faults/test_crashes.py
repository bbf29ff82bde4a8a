"""Workers, backends and servers that are killed in the middle of what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest
from crashing import DURABLE, caught_at, is_lost, is_up, kill_server, restart, state_of
from invariants import assert_sound
from load import Load, wait_until
from proof import record

from pgbaton import Client
from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install

Connection = psycopg.Connection[Any]

WORKER = """
import sys, time
from pgbaton import Client
[job] = Client(sys.argv[1]).claim_job_batch("mortal", ["orders"], batch_size=1)
print(job.id, job.attempt, job.lease_token, flush=True)
time.sleep(600)
"""


def later(conn: Connection, by: str) -> None:
    """From now on pgbaton's clock is ahead."""
    conn.execute(
        "create or replace function pgbaton._now() returns timestamptz language sql volatile"
        f" as $$ select clock_timestamp() + interval '{by}' $$".encode()
    )


def test_a_worker_that_is_killed_loses_its_jobs_to_others_until_they_are_failed(
    dsn: str, conn: Connection
) -> None:
    client = Client(connection=conn)
    client.create_fifo_queue("orders", max_attempts=2, lease="1 hour", retry_delay="0")
    first, second = client.enqueue_batch("orders", [1, 2], ["a", "a"])
    tokens = []
    for attempt in (1, 2):
        command = [sys.executable, "-c", WORKER, dsn]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout
            job_id, of_attempt, token = map(int, worker.stdout.readline().split())
            worker.kill()
        assert (job_id, of_attempt) == (first, attempt)
        tokens.append(token)
        assert client.claim_job_batch("other", ["orders"]) == []
        later(conn, f"{attempt * 2} hours")
        client.run_maintenance()
    assert client.get_job(first).state == "failed"
    for token in tokens:
        verdicts = client.complete_jobs([first], token)
        assert [v.verdict for v in verdicts] == ["lease_lost"]
    client.skip_job("orders", first)
    assert [job.id for job in client.claim_job_batch("other", ["orders"])] == [second]
    assert_sound(conn)
    record("killed_workers", crashes_injected=2)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with temporary_server(settings=DURABLE) as own:
        install(own.dsn())
        with Client(own.dsn()) as client:
            client.create_queue("mail")
            client.create_fifo_queue("orders")
        yield own


def prepared(client: Client) -> dict[str, Any]:
    """A job that runs and one that waits for it, in queues that are empty otherwise."""
    for job in client.claim_job_batch("cleaner", batch_size=1000):
        client.complete_job(job.id, lease_token=job.lease_token)
    key = uuid.uuid4().hex
    waiting = client.enqueue_batch("orders", [1, 2], [key, key])
    [job] = client.claim_job_batch("w", ["orders"])
    client.enqueue_job("mail")
    return {"id": job.id, "token": job.lease_token, "next": waiting[1]}


# A call and a table to which it writes last or nearly so.
CALLS = {
    "enqueue_job": ("pgbaton.span", "select pgbaton.enqueue_job('mail', dedup_id => 'x%(id)s')"),
    "claim_job_batch": ("pgbaton.span", "select pgbaton.claim_job_batch('w')"),
    "complete_job": (
        "pgbaton.job_history",
        "select pgbaton.complete_job(%(id)s, lease_token => %(token)s)",
    ),
    "fail_job": ("pgbaton.job_error", "select pgbaton.fail_job(%(id)s, 'no', %(token)s)"),
    "cancel_jobs": ("pgbaton.job_history", "select pgbaton.cancel_jobs(null, array[%(next)s])"),
}


def everything_works(client: Client, jobs: dict[str, Any]) -> None:
    """The job still runs under its token; what waited for it comes next."""
    client.complete_job(jobs["id"], lease_token=jobs["token"])
    claimed = {job.id: job.lease_token for job in client.claim_job_batch("w", batch_size=100)}
    assert jobs["next"] in claimed
    client.complete_job(jobs["next"], lease_token=claimed[jobs["next"]])


@pytest.mark.parametrize("name", CALLS)
def test_a_backend_that_is_killed_in_a_call_did_nothing(server: Server, name: str) -> None:
    table, call = CALLS[name]
    with Client(server.dsn()) as client:
        jobs = prepared(client)
    with closing(psycopg.connect(server.dsn(), autocommit=True)) as other:
        with caught_at(server.dsn(), table, call % jobs) as (pid, future):
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(psycopg.OperationalError):
                future.result()
        # One backend that is killed takes all others with it; the server comes back by itself.
        wait_until(lambda: is_lost(other), "the server to notice")
    wait_until(lambda: is_up(server.dsn()), "the server to recover")
    with Client(server.dsn()) as client:
        assert client.job_id_of("mail", f"x{jobs['id']}") is None
        assert client.get_job(jobs["id"]).state == "active"
        assert client.get_job(jobs["next"]).state == "waiting"
        everything_works(client, jobs)
    with psycopg.connect(server.dsn()) as conn:
        assert_sound(conn)
    record(f"killed_backend_{name}", crashes_injected=1)


@pytest.mark.parametrize("name", CALLS)
def test_a_backend_that_is_terminated_in_a_call_did_nothing(server: Server, name: str) -> None:
    table, call = CALLS[name]
    with Client(server.dsn()) as client, psycopg.connect(server.dsn(), autocommit=True) as admin:
        jobs = prepared(client)
        with caught_at(server.dsn(), table, call % jobs) as (pid, future):
            admin.execute("select pg_terminate_backend(%s)", [pid])
            with pytest.raises(psycopg.errors.AdminShutdown):
                future.result()
        assert client.job_id_of("mail", f"x{jobs['id']}") is None
        assert client.get_job(jobs["id"]).state == "active"
        assert client.get_job(jobs["next"]).state == "waiting"
        everything_works(client, jobs)
        assert_sound(admin)


def test_a_client_whose_backend_was_terminated_connects_again(server: Server) -> None:
    with Client(server.dsn()) as client, psycopg.connect(server.dsn(), autocommit=True) as admin:
        jobs = prepared(client)
        with psycopg.connect(server.dsn()) as blocker, ThreadPoolExecutor(1) as thread:
            blocker.execute("lock table pgbaton.job_history in share mode")
            call = thread.submit(client.complete_job, jobs["id"], lease_token=jobs["token"])
            find = "select pid from pg_stat_activity where application_name = 'pgbaton'"
            find += " and wait_event_type = 'Lock'"
            wait_until(lambda: admin.execute(find.encode()).fetchone(), "the call to wait")
            pid = admin.execute(find.encode()).fetchone()
            admin.execute("select pg_terminate_backend(%s)", pid)
            with pytest.raises(psycopg.errors.AdminShutdown):
                call.result()
        everything_works(client, jobs)


def test_a_server_that_is_killed_in_a_commit_keeps_what_it_wrote(server: Server) -> None:
    # A commit that waits for a standby is on disk already, but nobody was told.
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        with Client(server.dsn()) as client:
            jobs = prepared(client)
        with psycopg.connect(server.dsn(), autocommit=True) as own, ThreadPoolExecutor(1) as thread:
            pid = own.info.backend_pid
            own.execute("select pgbaton.version()")
            admin.execute("alter system set synchronous_standby_names = 'nobody'")
            admin.execute("select pg_reload_conf()")
            wait_until(
                lambda: own.execute("show synchronous_standby_names").fetchone() == ("nobody",),
                "the setting to arrive",
            )
            call = thread.submit(
                Client(connection=own).complete_job, jobs["id"], lease_token=jobs["token"]
            )
            wait_until(lambda: state_of(admin, pid)[1] == "SyncRep", "the commit to wait")
            kill_server(server)
            with pytest.raises(psycopg.OperationalError):
                call.result()
    (server.data / "postgresql.auto.conf").write_text("")
    restart(server)
    with Client(server.dsn()) as client:
        assert client.get_job(jobs["id"]).state == "completed"
        verdicts = client.complete_jobs([jobs["id"]], jobs["token"])
        assert [v.verdict for v in verdicts] == ["invalid_state"]
        assert jobs["next"] in [job.id for job in client.claim_job_batch("w", batch_size=100)]
    with psycopg.connect(server.dsn()) as conn:
        assert_sound(conn)
    record("killed_in_commit", crashes_injected=1)


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGQUIT"])
def test_a_server_that_dies_under_load_loses_nothing(server: Server, signal_name: str) -> None:
    load = Load(server.dsn())
    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(load.produce, n) for n in range(2)]
        running += [threads.submit(load.work, n) for n in range(2)]
        wait_until(lambda: len(load.completed) > 300, "some jobs to be completed")
        if signal_name == "SIGKILL":
            kill_server(server)
        else:
            immediate = [str(server.programs() / "pg_ctl"), "stop", "-m", "immediate", "-D"]
            as_owner(server, [*immediate, str(server.data)])
        for one in running:
            one.result()
    restart(server)
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        load.check(conn)
        assert_sound(conn)
        # What was out when the server died is out still, until its lease ends.
        later(conn, "1 day")
        client = Client(connection=conn)
        client.run_maintenance()
        while jobs := client.claim_job_batch("last", batch_size=500):
            client.complete_jobs([job.id for job in jobs], jobs[0].lease_token)
        assert conn.execute("select count(*) from pgbaton.span").fetchone() == (0,)
        later(conn, "0")
        assert_sound(conn)
    record(f"killed_server_{signal_name}", crashes_injected=1)


def test_a_run_whose_stages_did_not_wait_for_the_disk_outlives_the_server(server: Server) -> None:
    stage = (
        "select set_config('synchronous_commit', 'off', true),"
        " pgbaton.spark_stage('crash', %s, 0, %s, 'staged', array_fill('{}'::jsonb, array[5000]))"
    )
    attempt = uuid.uuid4()
    with Client(server.dsn()) as client:
        client.create_queue("staged")
        client.enqueue_job("staged")
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        for number in range(10):
            conn.execute(stage, [attempt, number])
        committed = conn.execute(
            "select inserted from pgbaton.spark_commit('crash', array[%s::uuid], 50000)", [attempt]
        ).fetchone()
        kill_server(server)
    assert committed == (50_000,)
    restart(server)
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        found = conn.execute("select count(*) from pgbaton.live_jobs where queue = 'staged'")
        assert found.fetchone() == (50_001,)
        assert_sound(conn)
    record("killed_after_run", crashes_injected=1)


def as_owner(server: Server, command: list[str]) -> None:
    """Runs a program as the account that owns the data; root may not."""
    owner = server.data.stat()
    subprocess.run(
        command, check=True, cwd="/", user=owner.st_uid, group=owner.st_gid,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
