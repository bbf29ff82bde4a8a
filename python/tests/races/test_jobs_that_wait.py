"""Jobs that wait for jobs, and two claims that look at what they wait for at the same time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Session

Open = Callable[[], Session]
Sound = Callable[[], None]


class Family:
    """Parents that run, and a child that waits for all of them."""

    def __init__(self, db: Session, parents: int, on_failed: str = "wait") -> None:
        self.db = db
        db.rows("select pgbaton.create_queue('parents', max_attempts => 1)")
        db.rows("select pgbaton.create_queue('children')")
        self.parents = db.enqueue_batch("parents", parents)
        self.child = db.enqueue("children", after=self.parents, on_failed=on_failed)
        self.tokens = db.claim("parents", parents)

    def complete(self, *parents: int) -> None:
        for parent in parents:
            assert self.db.complete({parent: self.tokens[parent]}) == ["ok"]

    def fail(self, parent: int) -> None:
        self.db.rows("select pgbaton.fail_job(%s, 'no', %s)", parent, self.tokens[parent])


@pytest.fixture
def two(open_session: Open) -> tuple[Session, Session]:
    first, second = open_session(), open_session()
    second.never_waits()
    first.begin()
    return first, second


@pytest.mark.parametrize("how", ["commit", "rollback"])
def test_two_claims_settle_the_last_two_groups(
    db: Session, two: tuple[Session, Session], sound: Sound, how: str
) -> None:
    """Sixteen parents are a group: who finds the other at it leaves the child to the next claim."""
    first, second = two
    family = Family(db, 17)
    family.complete(*family.parents[:16])
    assert first.claim("children") == {}
    family.complete(family.parents[16])
    assert second.claim("children") == {}
    first.end(how)
    assert list(db.claim("children")) == [family.child]
    sound()


@pytest.mark.parametrize("on_failed", ["wait", "cancel", "run"])
def test_a_parent_fails_while_a_claim_is_at_the_others(
    db: Session, two: tuple[Session, Session], sound: Sound, on_failed: str
) -> None:
    first, second = two
    family = Family(db, 3, on_failed)
    a, b, c = family.parents
    family.complete(c)
    assert first.claim("children") == {}  # from now on the group watches another parent
    family.fail(a)
    assert second.claim("children") == {}
    first.commit()
    assert second.claim("children") == {}
    assert db.one("select (pgbaton.get_job(%s)).state::text", family.child) == (
        "unscheduled" if on_failed == "cancel" else "pending"
    )
    blocked = [job for (job,) in db.rows("select job_id from pgbaton.blocked_jobs()")]
    assert blocked == ([family.child] if on_failed == "wait" else [])
    family.complete(b)
    assert list(db.claim("children")) == ([family.child] if on_failed == "run" else [])
    sound()


def test_a_parent_ends_while_a_claim_notes_that_another_one_failed(
    db: Session, two: tuple[Session, Session], sound: Sound
) -> None:
    first, second = two
    family = Family(db, 3)
    a, b, c = family.parents
    family.fail(a)
    assert first.claim("children") == {}
    family.complete(c)
    assert second.claim("children") == {}
    first.commit()
    assert second.claim("children") == {}
    family.complete(b)
    assert second.claim("children") == {}
    db.rows("select pgbaton.skip_job('parents', %s)", a)
    assert list(second.claim("children")) == [family.child]
    sound()


def test_a_parent_that_came_since_the_snapshot_is_40001(db: Session, open_session: Open) -> None:
    """Whether it never was or only cannot be seen, the call cannot know."""
    db.rows("select pgbaton.create_queue('q')")
    old = open_session()
    old.begin_with_snapshot("repeatable read")
    parent = db.enqueue("q")
    assert (
        old.refusal("select pgbaton.enqueue_job('q', after => array[%s::bigint])", parent)
        == "40001"
    )
    old.rollback()
    old.begin()
    old.rows("select from pgbaton.queue")
    assert (
        old.refusal("select pgbaton.enqueue_job('q', after => array[%s::bigint])", parent) is None
    )
    old.rollback()
