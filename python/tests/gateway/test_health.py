"""GET /healthz and /readyz of the gateway."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from serving import Served, serving, until


def says(served: Served, path: str, text: str) -> bool:
    return served.ask("GET", path).text == text


def test_a_gateway_says_that_it_is_there(gateway: Served, guarded: Served) -> None:
    """Also to those who have no token."""
    for served in (gateway, guarded):
        for path, text in (("/healthz", "ok"), ("/readyz", "ready")):
            until(partial(says, served, path, text))
            assert served.ask("GET", path).status_code == 200
            assert served.ask("HEAD", path).status_code == 200
        assert served.status("POST", "/healthz", json={}) in (401, 405)


@pytest.fixture
def closing(server_dsn: str, make_database: Callable[[str], str], template: str) -> Iterator[str]:
    """A database that takes no more connections after the test wants so."""
    dsn = make_database(template)
    yield dsn
    name = conninfo_to_dict(dsn)["dbname"]
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"alter database {name} allow_connections true".encode())


def test_it_is_not_ready_without_its_database_but_lives(closing: str, server_dsn: str) -> None:
    name = conninfo_to_dict(closing)["dbname"]
    as_user = make_conninfo(closing)
    with serving(as_user, "--cleanup-interval", "0") as served:
        assert served.ask("GET", "/readyz").status_code == 200
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(f"alter database {name} allow_connections false".encode())
            admin.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = %s",
                [name],
            )
        wait_for(served, 503)
        assert served.ask("GET", "/healthz").status_code == 200
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(f"alter database {name} allow_connections true".encode())
        wait_for(served, 200)


def wait_for(served: Served, status: int) -> None:
    deadline = time.monotonic() + 60
    while served.ask("GET", "/readyz").status_code != status:
        assert time.monotonic() < deadline
        time.sleep(0.1)
