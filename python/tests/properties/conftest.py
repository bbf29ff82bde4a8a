"""Fixtures of the property tests: the same examples on every run, one database for all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg.conninfo import make_conninfo

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.fixture(scope="module")
def shared(server_dsn: str, template: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to one database for all examples of a module."""
    name = f"{template}_properties"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}")
        with psycopg.connect(make_conninfo(server_dsn, dbname=name), autocommit=True) as conn:
            yield conn
        admin.execute(f"drop database {name} with (force)")
