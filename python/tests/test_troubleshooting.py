"""docs/troubleshooting.md is one psql session in a database where much has gone wrong."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psql_pages import assert_prints_what_it_shows, comparable
from psycopg.conninfo import make_conninfo
from sessions import Clock

from pgbaton import Client, _assemble

ENQUEUE = "select pgbaton.enqueue_job('orders', singleton_key => 'order 30')"
PAGE = _assemble.source_root() / "docs" / "troubleshooting.md"


@pytest.fixture
def troubled_dsn(dsn: str) -> Iterator[str]:
    """An operator's way in, while a report never ends and a producer waits for another.

    All of it happens on one day, so that maintenance has no new day to make on the page.
    """
    with connect(dsn, "observer") as observer, Clock(observer) as clock, roles(observer):
        clock.skip_midnight()
        with Client(dsn) as client:
            make_trouble(client)
        clock.advance("6 minutes")
        with contextlib.ExitStack() as stack:
            report, checkout, shop = (
                stack.enter_context(contextlib.closing(connect(dsn, name, user="night_shop")))
                for name in ("nightly report", "checkout", "shop")
            )
            report.execute("begin isolation level repeatable read")
            report.execute("select count(*) from pg_class")
            checkout.execute("begin")
            checkout.execute(ENQUEUE)
            shop.pgconn.send_query(ENQUEUE.encode())
            waits = "select true from pg_stat_activity where pid = %s and wait_event = 'advisory'"
            deadline = time.monotonic() + 60
            while not observer.execute(waits, [shop.info.backend_pid]).fetchone():
                assert time.monotonic() < deadline
            yield make_conninfo(dsn, options="-c role=night_operator")


@contextmanager
def roles(conn: psycopg.Connection[Any]) -> Iterator[None]:
    conn.execute(
        "create role night_operator in role pgbaton_operator, pg_monitor, pg_signal_backend;"
        "create role night_shop login password 'shop' in role pgbaton_producer;"
        "grant select on public.clock to night_operator, night_shop"
    )
    try:
        yield
    finally:
        conn.execute(
            "drop owned by night_operator, night_shop; drop role night_operator, night_shop"
        )


def connect(dsn: str, name: str, user: str | None = None) -> psycopg.Connection[Any]:
    login = {"user": user, "password": "shop"} if user else {}
    return psycopg.connect(make_conninfo(dsn, application_name=name, **login), autocommit=True)


def make_trouble(client: Client) -> None:
    client.create_fifo_queue("orders", max_attempts=1)
    client.create_queue("mail", max_attempts=1)
    client.create_queue("reports", lease=timedelta(hours=1))
    client.create_queue("imports")
    client.worker_heartbeat("worker-7", capacity=10)
    for step in ("charge", "ship", "invoice"):
        client.enqueue_job("orders", step, singleton_key="order 17")
    client.enqueue_job("orders", "charge", singleton_key="order 18")
    for address in ("a@smtp-2", "b@smtp-2", "nobody"):
        client.enqueue_job("mail", address)
    for job in client.claim_job_batch("worker-7", ["orders"]):
        client.fail_job(job.id, "card declined", job.lease_token)
    for job in client.claim_job_batch("worker-7", ["mail"]):
        error = "smtp-2 refuses connections" if "smtp-2" in job.payload else "no such address"
        client.fail_job(job.id, error, job.lease_token)
    client.worker_heartbeat("worker-9", capacity=10)
    client.enqueue_batch("reports", ["sales", "stock"])
    client.claim_job_batch("worker-9", ["reports"])
    client.enqueue_batch("imports", range(3), tags=["tour-4"])
    client.pause_queue("imports")
    client.run_maintenance()


def without_numbers(text: str) -> str:
    """Process ids differ each time."""
    return comparable(re.sub(r"\d{3,}", "<n>", comparable(text)))


def test_the_page_shows_what_psql_prints(troubled_dsn: str) -> None:
    assert_prints_what_it_shows(PAGE, troubled_dsn, without_numbers)
