"""pgbaton."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from pgbaton import install

from .base import NOTHING, Claim, Connection, Consumer, JsonList, Queue, QueueName, array, one


class Pgbaton(Queue):
    name = "pgbaton"
    settings = "enqueue_job, enqueue_batch, claim_job_batch, complete_jobs, complete_job"
    order = "strict"
    largest_backlog = 10_000_000
    limits_running = True

    def install(self, dsn: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            install.install(conn)
            conn.execute("select pgbaton.create_queue('plain', lease => '1 hour')")
            self.make_ordered(conn)
            self.version = one(conn, "select pgbaton.version()")

    def make_ordered(self, conn: Connection) -> None:
        conn.execute("select pgbaton.create_fifo_queue('ordered', lease => '1 hour')")

    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        if key is None:
            conn.execute("select pgbaton.enqueue_job('plain', %s::jsonb)", (payload,))
        else:
            conn.execute(
                "select pgbaton.enqueue_job('ordered', %s::jsonb, singleton_key => %s)",
                (payload, key),
            )

    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        statement = "select count(*) from pgbaton.enqueue_batch(%s, %s, %s::text[])"
        values: Any = ("ordered" if keys else "plain", JsonList(payloads), keys and array(keys))
        assert one(conn, statement, values) == len(payloads)

    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        rows = conn.execute(
            "select id, payload, lease_token"
            " from pgbaton.claim_job_batch(%s, %s, batch_size => %s)",
            (consumer.name, [queue], batch),
        ).fetchall()
        if not rows:
            return NOTHING
        return Claim([row[0] for row in rows], [row[1] for row in rows], rows[0][2])

    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        verdicts = conn.execute(
            "select verdict from pgbaton.complete_jobs(%s, %s)", (array(claim.ids), claim.detail)
        ).fetchall()
        assert [row[0] for row in verdicts] == ["ok"] * len(claim.ids), verdicts

    def ack_one(self, conn: Connection, claim: Claim, place: int) -> None:
        conn.execute(
            "select pgbaton.complete_job(%s, lease_token => %s)", (claim.ids[place], claim.detail)
        )

    def ack_and_claim(
        self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int, last: Claim
    ) -> Claim:
        rows = conn.execute(
            "select verdict, id, payload, lease_token"
            " from pgbaton.complete_and_claim(%s, %s, %s, %s, batch_size => %s)",
            (array(last.ids), last.detail, consumer.name, [queue], batch),
        ).fetchall()
        assert {row[0] for row in rows} <= {"claimed"}, rows
        if not rows:
            return NOTHING
        return Claim([row[1] for row in rows], [row[2] for row in rows], rows[0][3])

    def limit_running(self, conn: Connection, most: int | None) -> None:
        if most is None:
            return
        conn.execute("select pgbaton.set_queue_limits('plain', max_running => %s)", (most,))

    def left(self, conn: Connection) -> int:
        return int(one(conn, "select coalesce(sum(hi - lo + 1), 0) from pgbaton.span"))


class PgbatonInOneCall(Pgbaton):
    """The same queue, whose consumers send the outcomes of a batch with the next claim."""

    name = "pgbaton, one call"
    settings = "complete_and_claim"
    in_one_call = True


class PgbatonKeyLimit(Pgbaton):
    """The same, where `ordered` lets eight jobs of each key run at once, in no order."""

    name = "pgbaton, key_limit 8"
    settings = "a queue of policy singleton with key_limit => 8"
    order = None

    def make_ordered(self, conn: Connection) -> None:
        conn.execute("select pgbaton.create_queue('ordered', 'singleton', lease => '1 hour')")
        conn.execute("select pgbaton.set_queue_limits('ordered', key_limit => 8)")
