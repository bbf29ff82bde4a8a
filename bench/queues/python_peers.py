"""Queues of PyPI: procrastinate, pgqueuer and absurd, by the SQL in their packages."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import psycopg

from .base import (
    HOUR,
    NOTHING,
    Claim,
    Connection,
    Consumer,
    JsonList,
    Queue,
    QueueName,
    array,
    one,
    parsed,
    raw,
    with_keys,
)


class Procrastinate(Queue):
    name = "procrastinate"
    settings = "its SQL functions; one job a fetch; done jobs are deleted; keys are its locks"
    claims_batches = False
    order = "strict"

    def __init__(self) -> None:
        from procrastinate.sql import queries

        self._queries: dict[str, str] = queries
        self._workers: dict[Connection, int] = {}

    def install(self, dsn: str) -> None:
        from procrastinate.schema import SchemaManager

        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(SchemaManager.get_schema())
        self.version = version("procrastinate")

    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        self.enqueue_many(conn, [payload], None if key is None else [key])

    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        queue = "ordered" if keys else "plain"
        jobs = [
            (queue, "task", 0, key, None, payload, None)
            for payload, key in with_keys(payloads, keys)
        ]
        conn.execute(self._queries["defer_jobs"], {"jobs": jobs})

    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        if conn not in self._workers:
            self._workers[conn] = one(conn, self._queries["register_worker"])
        row = conn.execute(
            self._queries["fetch_job"],
            {"queues": [queue], "worker_id": self._workers[conn]},
        ).fetchone()
        return NOTHING if row is None or row[0] is None else Claim([row[0]], [row[6]])

    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        for job_id in claim.ids:
            conn.execute(
                self._queries["finish_job"],
                {"job_id": job_id, "status": "succeeded", "delete_job": True},
            )

    def left(self, conn: Connection) -> int:
        return int(one(conn, "select count(*) from procrastinate_jobs"))


class PgQueuer(Queue):
    name = "pgqueuer"
    settings = (
        "its own queries, durable, with its autovacuum settings; no concurrency limit but in"
        " max_running_4"
    )
    limits_running = True

    def __init__(self) -> None:
        from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment, QueryQueueBuilder

        self._environment = QueryBuilderEnvironment()
        self._queries = QueryQueueBuilder()
        self._enqueue = self._queries.build_enqueue_query()
        self._finish = self._queries.build_log_job_query()
        self._limit = 0  # none

    def install(self, dsn: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            raw_script(conn, self._environment.build_install_query())
            for statement in self._environment.build_alter_durability_query():
                raw_script(conn, statement)
            raw_script(conn, self._environment.build_optimize_autovacuum_query())
        self.version = version("pgqueuer")

    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        assert key is None
        self._insert(conn, [payload])  # in a pipeline there is no answer yet to look at

    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        assert keys is None
        assert len(self._insert(conn, payloads)) == len(payloads), "pgqueuer: not all were enqueued"

    def _insert(self, conn: Connection, payloads: Sequence[str]) -> list[dict[str, Any]]:
        count = len(payloads)
        none: list[Any] = [None] * count
        bodies, at_once = [p.encode() for p in payloads], [timedelta()] * count
        return raw(
            conn, self._enqueue, [[0] * count, ["plain"] * count, bodies, at_once, none, none]
        )

    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        from pgqueuer.types import QueueEntrypoint, QueueManagerId

        query = self._queries.build_dequeue_query(
            batch_size=batch,
            entrypoints=[QueueEntrypoint(queue)],
            concurrency_limits=[self._limit],
            queue_manager_id=QueueManagerId(uuid.UUID(int=consumer.place + 1)),
            global_concurrency_limit=None,
            heartbeat_timeout=timedelta(seconds=HOUR),
        )
        rows = raw(conn, query.sql, query.args)
        if not rows:
            return NOTHING
        return Claim([row["id"] for row in rows], [parsed(row["payload"]) for row in rows])

    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        count = len(claim.ids)
        raw(conn, self._finish, [array(claim.ids), ["successful"] * count, [None] * count])

    def limit_running(self, conn: Connection, most: int | None) -> None:
        self._limit = most or 0

    def left(self, conn: Connection) -> int:
        return int(one(conn, "select count(*) from pgqueuer"))


class Absurd(Queue):
    name = "absurd"
    settings = "spawn_task, claim_task, complete_run; unpartitioned queue; schema of absurdctl"
    largest_backlog = 100_000

    def install(self, dsn: str) -> None:
        import absurdctl  # type: ignore[import-untyped]

        with psycopg.connect(dsn, autocommit=True) as conn:
            raw_script(conn, absurdctl.BUNDLED_SCHEMA_SQL)
            conn.execute("select absurd.create_queue('plain')")
        self.version = version("absurdctl")

    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        assert key is None
        conn.execute("select * from absurd.spawn_task('plain', 'task', %s::jsonb)", (payload,))

    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        assert keys is None
        conn.execute(
            "select count(*) from unnest(%s) as p, lateral absurd.spawn_task('plain', 'task', p)",
            (JsonList(payloads),),
        )

    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        rows = conn.execute(
            "select run_id, params from absurd.claim_task(%s, %s, %s, %s)",
            (queue, consumer.name, HOUR, batch),
        ).fetchall()
        return Claim([row[0] for row in rows], [row[1] for row in rows]) if rows else NOTHING

    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        conn.execute(
            "select absurd.complete_run(%s, run) from unnest(%s::uuid[]) as run",
            (queue, array(claim.ids)),
        )

    def left(self, conn: Connection) -> int:
        return int(one(conn, "select count(*) from absurd.t_plain where state <> 'completed'"))


def raw_script(conn: Connection, script: str) -> None:
    """Runs statements that may contain percent signs."""
    conn.execute(script.encode())
