"""The table that one writes oneself: a status column, SKIP LOCKED, an UPDATE when it is done."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from .base import NOTHING, Claim, Connection, Consumer, JsonList, Queue, QueueName, array, one

TABLE = """
create table task (
    id bigint generated always as identity primary key,
    status text not null default 'pending',
    priority integer not null default 0,
    attempts integer not null default 0,
    payload jsonb not null,
    created_at timestamptz not null default now(),
    claimed_at timestamptz,
    claimed_by text,
    finished_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index task_pending on task (priority desc, id) where status = 'pending';
"""


class Textbook(Queue):
    name = "textbook"
    settings = (
        "one table, partial index (priority desc, id) where pending, SKIP LOCKED, UPDATE at the end"
    )

    def install(self, dsn: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(TABLE)
            self.version = "own"

    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        assert key is None
        conn.execute("insert into task (payload) values (%s::jsonb) returning id", (payload,))

    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        assert keys is None
        conn.execute("insert into task (payload) select unnest(%s)", (JsonList(payloads),))

    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        # The batch is a literal: for an unknown limit the planner sorts the backlog.
        rows = conn.execute(
            f"""update task set status = 'active', attempts = attempts + 1, claimed_by = %s,
            claimed_at = now() where id = any (array(
                select id from task where status = 'pending' order by priority desc, id
                limit {batch} for update skip locked
            )) returning id, payload""",
            (consumer.name,),
        ).fetchall()
        return Claim([row[0] for row in rows], [row[1] for row in rows]) if rows else NOTHING

    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        done = conn.execute(
            "update task set status = 'done', finished_at = now()"
            " where id = any (%s) and status = 'active'",
            (array(claim.ids),),
        ).rowcount
        assert done == len(claim.ids)

    def left(self, conn: Connection) -> int:
        return int(one(conn, "select count(*) from task where status <> 'done'"))
