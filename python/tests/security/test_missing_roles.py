"""Who is no superuser installs pgbaton on a server that does not have its roles yet."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgbaton import Client
from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install


@pytest.fixture
def server() -> Iterator[Server]:
    with temporary_server() as server:
        yield server


@pytest.mark.proof
@pytest.mark.parametrize("may_create_roles", [False, True])
def test_the_roles_are_made_by_who_may(server: Server, may_create_roles: bool) -> None:
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        right = "createrole" if may_create_roles else "nocreaterole"
        admin.execute(f"create role installer login {right}".encode())
        admin.execute("create database app owner installer")
        dsn = make_conninfo(server.dsn(), dbname="app", user="installer")
        if not may_create_roles:
            with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
                install(dsn)
            hint = caught.value.diag.message_hint
            assert hint is not None
            admin.execute(hint.removeprefix("An administrator can run: ").encode())
        install(dsn)

        admin.execute("create role app login in role pgbaton_operator")
        with Client(make_conninfo(dsn, user="app")) as client:
            client.create_fifo_queue("orders")
            client.enqueue_job("orders", singleton_key="a")
            client.run_maintenance()
            [job] = client.claim_job_batch("w", ["orders"])
            client.complete_job(job.id, lease_token=job.lease_token)
            assert client.get_job(job.id).state == "completed"
        assert admin.execute(
            "select count(*) from pg_roles where rolname ~ '^pgbaton_'"
            " and not (rolsuper or rolcreaterole or rolcreatedb or rolcanlogin or rolbypassrls)"
        ).fetchone() == (4,)
