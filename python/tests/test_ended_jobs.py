"""The stream of ended jobs: whoever commits late is neither lost nor read twice."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

Conn = psycopg.Connection[Any]


class Stream:
    """Reads on from where it stood."""

    def __init__(self, conn: Conn) -> None:
        self.conn = conn
        self.after: dict[str, Any] = {}
        self.seen: list[int] = []

    def read(self) -> list[int]:
        [(until,)] = self.conn.execute(
            "select pgbaton.ended_jobs_offset(%s)", [Jsonb(self.after)]
        ).fetchall()
        found = self.conn.execute(
            "select id from pgbaton.ended_jobs(%s, %s)", [Jsonb(self.after), Jsonb(until)]
        ).fetchall()
        self.after = until
        self.seen += [job for (job,) in found]
        return sorted(job for (job,) in found)


@pytest.fixture
def jobs(conn: Conn) -> tuple[list[int], int]:
    """Six claimed jobs, and the token of their claim. Each has a key, so that none shares a row."""
    conn.execute("select pgbaton.create_queue('mail')")
    conn.execute(
        "select pgbaton.enqueue_batch('mail', array_fill('1'::jsonb, array[6]), '{a,b,c,d,e,f}')"
    )
    rows = conn.execute(
        "select id, lease_token from pgbaton.claim_job_batch('w', '{mail}')"
    ).fetchall()
    return [row[0] for row in rows], rows[0][1]


def complete(conn: Conn, job: int, token: int) -> None:
    conn.execute("select pgbaton.complete_job(%s, lease_token => %s)", [job, token])


@pytest.mark.parametrize("has_savepoint", [False, True])
def test_a_transaction_held_open_across_reads_is_delivered_once(
    dsn: str, conn: Conn, jobs: tuple[list[int], int], has_savepoint: bool
) -> None:
    """With a savepoint the rows carry a transaction id of their own, which no snapshot names."""
    ids, token = jobs
    stream = Stream(conn)
    assert stream.read() == []
    with psycopg.connect(dsn) as late:
        complete(late, ids[0], token)
        if has_savepoint:
            complete(conn, ids[1], token)  # so that the savepoint's id comes after this one's
            with late.transaction():
                complete(late, ids[2], token)
        complete(conn, ids[3], token)
        while_open = stream.read()
        complete(conn, ids[4], token)
        while_open += stream.read()
        assert not {ids[0], ids[2]} & set(while_open)
        late.commit()
    assert ids[0] in stream.read()
    complete(conn, ids[5], token)
    assert stream.read() == [ids[5]]
    expected = ids if has_savepoint else [ids[0], *ids[3:]]
    assert sorted(stream.seen) == sorted(expected)


def test_what_is_rolled_back_is_not_read(dsn: str, conn: Conn, jobs: tuple[list[int], int]) -> None:
    ids, token = jobs
    stream = Stream(conn)
    with psycopg.connect(dsn) as other:
        complete(other, ids[0], token)
        other.rollback()
    complete(conn, ids[1], token)
    assert stream.read() == [ids[1]]
    assert stream.read() == []


def test_from_now_on_leaves_out_what_began_before(
    dsn: str, conn: Conn, jobs: tuple[list[int], int]
) -> None:
    ids, token = jobs
    complete(conn, ids[0], token)
    stream = Stream(conn)
    with psycopg.connect(dsn) as earlier:
        complete(earlier, ids[1], token)
        [(stream.after,)] = conn.execute("select pgbaton.ended_jobs_offset()").fetchall()
        complete(conn, ids[2], token)
        assert stream.read() == []
        earlier.commit()
    assert stream.read() == [ids[2]]


def test_many_writers_and_a_reader_that_never_waits(
    dsn: str, conn: Conn, jobs: tuple[list[int], int]
) -> None:
    """Transactions that overlap like a chain: each ends after the next one has begun."""
    ids, token = jobs
    stream = Stream(conn)
    writers = [psycopg.connect(dsn) for _ in ids]
    try:
        for writer, job, previous in zip(writers, ids, [None, *writers], strict=False):
            complete(writer, job, token)
            stream.read()
            if previous is not None:
                previous.commit()
            stream.read()
        writers[-1].commit()
        stream.read()
    finally:
        for writer in writers:
            writer.close()
    assert sorted(stream.seen) == sorted(ids)
    assert len(stream.seen) == len(ids)


def test_an_older_snapshot_is_told_that_it_does_not_see_all(
    dsn: str, conn: Conn, jobs: tuple[list[int], int]
) -> None:
    ids, token = jobs
    complete(conn, ids[0], token)
    with psycopg.connect(dsn) as older:
        older.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        older.execute("select from pgbaton.queue")
        complete(conn, ids[1], token)
        [(until,)] = conn.execute("select pgbaton.ended_jobs_offset('{}')").fetchall()
        read = "select id from pgbaton.ended_jobs('{}', %s)"
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            older.execute(read, [Jsonb(until)])
        older.rollback()
        assert sorted(older.execute(read, [Jsonb(until)])) == [(ids[0],), (ids[1],)]
