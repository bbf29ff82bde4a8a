"""Transactions of many statements through the view enqueue_inbox never wait in a circle."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import pytest
from sessions import Session

PARTS = 4
ISOLATIONS = ["read committed", "repeatable read", "serializable"]


def stripe(key: str) -> int:
    return sha256(key.encode()).digest()[0]


def part_of(key: str) -> int:
    return stripe(key) * PARTS >> 8


KEYS = sorted((f"k{n}" for n in range(200)), key=stripe)
FIRST = [key for key in KEYS if part_of(key) == 0]
LAST = [key for key in KEYS if part_of(key) == PARTS - 1]
LOW, HIGH = KEYS[0], KEYS[-1]
ROW = (
    "insert into pgbaton.enqueue_inbox (queue, singleton_key, payload)"
    " values (%s, %s, to_jsonb(%s::text))"
)
PART = (
    "insert into pgbaton.enqueue_inbox (queue, singleton_key, payload, run_id, part, parts)"
    " values (%s, %s, to_jsonb(%s::text), %s, %s, 4)"
)


@pytest.fixture
def queues(db: Session) -> None:
    db.rows("select pgbaton.create_fifo_queue('orders'), pgbaton.create_queue('mail')")
    # Lanes and days are there, so that sessions wait for nothing but keys.
    db.rows("select pgbaton.enqueue_batch(q, '{}') from unnest(array['orders', 'mail']) as q")


@pytest.fixture(autouse=True)
def runs(queues: None, db: Session) -> None:
    """Begun beforehand: else the first part of a run holds up the others."""
    db.rows("select pgbaton.spark_begin(run, 4) from unnest(array['run', 'a', 'b']) as run")


def payloads(db: Session, key: str) -> list[str]:
    rows = db.rows(
        "select j.payload #>> '{}' from pgbaton.live_jobs as j join pgbaton.span as s"
        " on s.lo = j.range_id where j.singleton_key = %s order by s.key_position, j.id",
        key,
    )
    return [payload for (payload,) in rows]


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_keys_in_no_order_go_one_transaction_after_the_other(
    db: Session, open_session: Callable[[], Session], isolation: str
) -> None:
    one, two = open_session(), open_session()
    for each in (one, two):
        each.rows("begin")
        each.conn.execute(f"set transaction isolation level {isolation}".encode())
    one.rows(ROW, "orders", HIGH, "a")
    # Before it has a key that the first one wants.
    waiting = two.start(ROW, "orders", LOW, "b").until_blocked(one)
    one.rows(ROW, "orders", LOW, "a")
    one.rows("commit")
    waiting.rows()
    two.rows(ROW, "orders", HIGH, "b")
    two.rows("commit")
    assert payloads(db, LOW) == payloads(db, HIGH) == ["a", "b"]


def test_parts_of_stripes_go_side_by_side(db: Session, open_session: Callable[[], Session]) -> None:
    one, two = open_session(), open_session()
    for each, number, keys in ((one, 0, FIRST), (two, PARTS - 1, LAST)):
        each.rows("begin")
        for key in keys[:2]:
            each.rows(PART, "orders", key, "x", "run", number)
    one.rows(PART, "orders", FIRST[-1], "x", "run", 0)
    one.rows("commit")
    two.rows("commit")
    assert [len(payloads(db, key)) for key in (FIRST[0], LAST[1], FIRST[-1])] == [1, 1, 1]


def test_the_same_part_of_two_runs_waits_for_the_first_stripe_that_both_have(
    db: Session, open_session: Callable[[], Session]
) -> None:
    one, two = open_session(), open_session()
    low, high = FIRST[0], FIRST[-1]
    for each, run in ((one, "a"), (two, "b")):
        each.rows("begin")
        first = low if each is one else FIRST[1]
        assert stripe(first) < stripe(high)
        each.rows(PART, "orders", first, run, run, 0)
    one.rows(PART, "orders", high, "a", "a", 0)
    waiting = two.start(PART, "orders", high, "b", "b", 0).until_blocked(one)
    one.rows("commit")
    waiting.rows()
    two.rows("commit")
    assert payloads(db, high) == ["a", "b"]


@pytest.mark.parametrize("strange", ["a lower stripe", "a stripe of another part", "no part"])
def test_who_leaves_the_order_waits_until_nobody_else_is_there(
    db: Session, open_session: Callable[[], Session], strange: str
) -> None:
    one, two = open_session(), open_session()
    for each, number, key in ((one, 0, FIRST[-1]), (two, PARTS - 1, LAST[0])):
        each.rows("begin")
        each.rows(PART, "orders", key, "x", "run", number)
    if strange == "no part":
        waiting = one.start(ROW, "orders", LAST[0], "y")
    else:
        key = FIRST[0] if strange == "a lower stripe" else LAST[0]
        waiting = one.start(PART, "orders", key, "y", "run", 0)
    waiting.until_blocked(two)
    two.rows(PART, "orders", LAST[-1], "x", "run", PARTS - 1)
    two.rows("commit")
    waiting.rows()
    one.rows(PART, "orders", FIRST[0], "y", "run", 0)
    one.rows("commit")
    assert payloads(db, FIRST[0])[-1] == "y"


def test_a_standard_queue_and_another_queue_are_not_held_up(
    db: Session, open_session: Callable[[], Session]
) -> None:
    db.rows("select pgbaton.create_fifo_queue('other')")
    db.rows("select pgbaton.enqueue_batch('other', '{}')")
    one, two = open_session(), open_session()
    for each, queue in ((one, "orders"), (two, "other")):
        each.rows("begin")
        each.rows(ROW, queue, HIGH, "x")
        each.rows(ROW, "mail", HIGH, "x")
        each.rows(ROW, "mail", LOW, "x")
    one.rows("commit")
    two.rows("commit")
    assert len(payloads(db, HIGH)) == 4


def test_a_savepoint_that_is_rolled_back_takes_its_claim_along(
    db: Session, open_session: Callable[[], Session]
) -> None:
    """What a transaction remembers of its stripes is of the statements that count."""
    one, two = open_session(), open_session()
    one.rows("begin")
    one.rows(PART, "orders", FIRST[0], "x", "run", 0)
    one.rows("savepoint s")
    one.rows(PART, "orders", FIRST[-1], "x", "run", 0)
    one.rows("rollback to s")
    two.rows("begin")
    two.rows(PART, "orders", LAST[0], "x", "run", PARTS - 1)
    one.rows(PART, "orders", FIRST[1], "x", "run", 0)
    one.rows("commit")
    two.rows("commit")
    assert [len(payloads(db, key)) for key in (FIRST[0], FIRST[-1], FIRST[1])] == [1, 0, 1]
