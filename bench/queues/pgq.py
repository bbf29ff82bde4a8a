"""PgQ of Debian: batches between ticks. It shares no work, so there are four queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import psycopg

from .base import NOTHING, Claim, Connection, Consumer, Queue, QueueName, array, one, parsed

SHARDS = 4


class PgQ(Queue):
    name = "pgq"
    settings = (
        f"{SHARDS} queues with a consumer each; a tick for each batch when loading,"
        " every 20 ms when steady"
    )
    keeps_states = False
    acks_singly = False
    fill_depends_on_batch = True

    def __init__(self) -> None:
        self._next_shard = 0
        self._turn = 0

    def install(self, dsn: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("create extension pgq")
            for shard in range(SHARDS):
                conn.execute("select pgq.create_queue(%s)", (f"shard_{shard}",))
                conn.execute(
                    "select pgq.set_queue_config(%s, 'ticker_max_lag', '0')", (f"shard_{shard}",)
                )
                conn.execute("select pgq.register_consumer(%s, 'c')", (f"shard_{shard}",))
            self.version = one(conn, "select extversion from pg_extension where extname = 'pgq'")

    def _shard(self) -> str:
        self._next_shard = (self._next_shard + 1) % SHARDS
        return f"shard_{self._next_shard}"

    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        assert key is None
        conn.execute("select pgq.insert_event(%s, 'task', %s)", (self._shard(), payload))

    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        self._insert(conn, self._shard(), payloads)

    def _insert(self, conn: Connection, shard: str, payloads: Sequence[str]) -> None:
        conn.execute(
            "select count(pgq.insert_event(%s, 'task', p)) from unnest(%s::text[]) as p",
            (shard, array(payloads)),
        )

    def fill(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None, batch: int
    ) -> None:
        for first in range(0, len(payloads), batch):
            shard = self._shard()
            self._insert(conn, shard, payloads[first : first + batch])
            conn.execute("select pgq.ticker(%s)", (shard,))

    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        mine = range(consumer.place, SHARDS, consumer.of)
        for _ in mine:
            self._turn += 1
            shard = f"shard_{mine[self._turn % len(mine)]}"
            while (batch_id := one(conn, "select pgq.next_batch(%s, 'c')", (shard,))) is not None:
                rows = conn.execute(
                    "select ev_id, ev_data from pgq.get_batch_events(%s)", (batch_id,)
                ).fetchall()
                if rows:
                    ids, payloads = [row[0] for row in rows], [parsed(row[1]) for row in rows]
                    return Claim(ids, payloads, batch_id)
                conn.execute("select pgq.finish_batch(%s)", (batch_id,))
        return NOTHING

    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        conn.execute("select pgq.finish_batch(%s)", (claim.detail,))

    def left(self, conn: Connection) -> int | None:
        return None  # pending_events counts from sequences

    def enqueued(self, conn: Connection) -> int | None:
        return int(one(conn, "select count(*) from pgq.event_template"))

    def background(self) -> Callable[[Connection], None]:
        def tick(conn: Connection) -> None:
            for shard in range(SHARDS):
                conn.execute("select pgq.ticker(%s)", (f"shard_{shard}",))

        return tick
