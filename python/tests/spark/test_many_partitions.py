"""Many more partitions than connections: Spark's cores bound them."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession
from test_exactly_once import METHODS, TABLES, gate

from pgbaton.embedded import temporary_server
from pgbaton.install import install
from pgbaton.spark import enqueue

PARTITIONS = 1000


@pytest.mark.proof
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.timeout(600)
def test_a_thousand_partitions_and_twenty_connections(spark: SparkSession, method: str) -> None:
    with temporary_server(settings={"max_connections": "20"}) as server:
        dsn = server.dsn(tcp=True)
        install(dsn)
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("select pgbaton.create_queue('mail')")
            df = spark.range(0, 2 * PARTITIONS, 1, PARTITIONS)
            done = enqueue(df, dsn, "mail", partitions=PARTITIONS, method=method)
            assert done.inserted == 2 * PARTITIONS
            assert len(done.parts) == (PARTITIONS if method == "jdbc" else 1)
            assert conn.execute(
                "select count(*), count(distinct payload ->> 'id') from pgbaton.job"
            ).fetchone() == (2 * PARTITIONS, 2 * PARTITIONS)


@pytest.mark.parametrize("method", METHODS)
def test_a_server_without_a_connection_to_spare_is_named_as_the_reason(
    spark: SparkSession, method: str
) -> None:
    with temporary_server() as server:
        dsn = server.dsn(tcp=True)
        install(dsn)
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("select pgbaton.create_queue('mail')")
            conn.execute(
                "create role one login password 'one' connection limit 1 in role pgbaton_producer"
            )
            # One task has the connection and waits at its COMMIT; JDBC's driver has it before.
            with (
                gate(conn, TABLES[method]),
                pytest.raises(psycopg.OperationalError, match="too many connections for role"),
            ):
                enqueue(
                    spark.range(0, 2, 1, 2),
                    make_conninfo(dsn, user="one", password="one"),  # noqa: S106
                    "mail",
                    method=method,
                )
            assert conn.execute("select count(*) from pgbaton.jobs").fetchone() == (0,)
