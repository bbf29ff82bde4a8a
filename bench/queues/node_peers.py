"""Queues of npm: pg-boss and graphile-worker, by the statements that their packages send."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from .base import NOTHING, Claim, Connection, Consumer, Queue, QueueName, array, one, raw, with_keys

HERE = Path(__file__).resolve().parent
MODULES = HERE.parents[1] / "build" / "peers" / "node_modules"
BATCHES = ("1", "10", "100", "500")


class NodeQueue(Queue):
    """Installed by its own package, which also shows its statements."""

    package: str

    def install(self, dsn: str) -> None:
        names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
        values = {names[k]: str(v) for k, v in conninfo_to_dict(dsn).items() if k in names}
        script = HERE.parent / "peer_statements.mjs"
        done = subprocess.run(
            ["node", script, MODULES, self.package, *BATCHES],
            env={**os.environ, **values},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{self.package}: {done.stderr}")
        shown = json.loads(done.stdout)
        self.version = shown["version"]
        self._texts: dict[str, str] = {}
        self._samples: dict[str, list[Any]] = {}
        for operation, sent in shown["statements"].items():
            assert len(sent) == 1, f"{self.package} sends {len(sent)} statements for {operation}"
            self._texts[operation] = sent[0]["text"]
            self._samples[operation] = sent[0]["values"]

    def send(self, conn: Connection, operation: str, values: Sequence[Any]) -> list[dict[str, Any]]:
        assert len(values) == len(self._samples[operation]), operation
        return raw(conn, self._texts[operation], values)


class PgBoss(NodeQueue):
    name = package = "pg-boss"
    settings = "insert, fetch({batchSize}), complete; partitioned queues; keys: key_strict_fifo"
    order = "strict"
    orders_within_call = False  # they have one created_on, and random ids

    def _like_sample(self, operation: str, payload: str, key: str | None) -> dict[str, Any]:
        (sample,) = json.loads(self._samples[operation][0])
        return {**sample, "data": json.loads(payload), "singletonKey": key}

    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        operation = "enqueue_one " + ("plain" if key is None else "ordered")
        self.send(conn, operation, [json.dumps([self._like_sample(operation, payload, key)])])

    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        operation = "enqueue_many " + ("ordered" if keys else "plain")
        jobs = [
            self._like_sample(operation, payload, key) for payload, key in with_keys(payloads, keys)
        ]
        self.send(conn, operation, [json.dumps(jobs)])

    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        try:
            rows = self.send(conn, f"claim {queue} {batch}", [])
        except psycopg.errors.UniqueViolation:  # a lost race, which pg-boss takes as empty too
            return NOTHING
        if not rows:
            return NOTHING
        return Claim(
            [str(row["id"]) for row in rows],
            [row["data"] for row in rows],
            [f"{row['id']}:{row['retryCount']}" for row in rows],
        )

    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        attempts = claim.detail if isinstance(claim.detail, list) else [claim.detail]
        rows = self.send(conn, f"ack {queue}", [queue, array(claim.ids), None, attempts])
        assert rows[0]["count"] == len(claim.ids)

    def left(self, conn: Connection) -> int:
        return int(one(conn, "select count(*) from pgboss.job where state < 'completed'"))


class GraphileWorker(NodeQueue):
    name = package = "graphile-worker"
    settings = "add_job, add_jobs, its batch getJobs and completeJobs; keys are its queue names"
    order = "serial"

    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        self.send(conn, "enqueue_one", ["task", payload, key, *[None] * 6])

    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        specs = [
            {"identifier": "task", "payload": json.loads(payload), "queue_name": key}
            for payload, key in with_keys(payloads, keys)
        ]
        self.send(conn, "enqueue_many", [json.dumps(specs), None])

    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        operation = f"claim {batch}"
        rows = self.send(conn, operation, [consumer.name, self._samples[operation][1]])
        if not rows:
            return NOTHING
        return Claim([row["id"] for row in rows], [row["payload"] for row in rows], consumer.name)

    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        if queue == "ordered":
            self.send(conn, "ack ordered", [array(claim.ids), claim.detail])
        elif len(claim.ids) == 1:
            self.send(conn, "ack one plain", list(claim.ids))
        else:
            self.send(conn, "ack plain", [array(claim.ids)])

    def left(self, conn: Connection) -> int:
        return int(one(conn, "select count(*) from graphile_worker._private_jobs"))
