"""The homes of spans: what moves one while set_fifo_mode moves them all.

After each, `sound` looks whether every span stands where the policy of its queue says.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Clock, Session

Open = Callable[[], Session]

WHERE = """
    select s.tableoid::regclass::text, s.state::text, s.hi - s.lo + 1 from pgbaton.span as s
    order by s.lo
"""


def homes(db: Session) -> set[str]:
    return {home for home, _, _ in db.rows(WHERE)}


def test_where_jobs_stand(db: Session, sound: Callable[[], None]) -> None:
    db.rows("select pgbaton.create_queue('q'), pgbaton.create_fifo_queue('f')")
    db.enqueue_batch("q", 10)
    db.enqueue("q", run_at=db.one("select pgbaton._now() + interval '1 hour'"))
    db.enqueue("f", "k")
    held = db.claim("q", 4)
    assert db.rows(WHERE) == [
        ("pgbaton.leased_span", "active", 4),
        ("pgbaton.ready_span", "pending", 6),
        ("pgbaton.span", "pending", 1),
        ("pgbaton.span", "pending", 1),
    ]
    db.complete(held)
    sound()


def test_a_span_in_the_wrong_home_is_noticed(db: Session, sound: Callable[[], None]) -> None:
    db.rows("select pgbaton.create_queue('q')")
    db.enqueue("q")
    db.rows("""
        with moved as (delete from pgbaton.ready_span as s returning s.*)
        insert into pgbaton.span select m.* from moved as m
    """)
    with pytest.raises(AssertionError, match="a span stands where"):
        sound()


@pytest.mark.parametrize("what", ["claim", "complete", "release", "fail", "due"])
@pytest.mark.parametrize("enabled", [True, False])
def test_it_waits_for_what_moves_a_span(
    db: Session,
    clock: Clock,
    open_session: Open,
    sound: Callable[[], None],
    what: str,
    enabled: bool,
) -> None:
    clock.skip_midnight()
    create = "create_queue" if enabled else "create_fifo_queue"
    db.rows(f"select pgbaton.{create}('q')")  # type: ignore[arg-type]
    keys = None if enabled else [f"k{n}" for n in range(20)]
    jobs = db.enqueue_batch("q", 20, keys)
    held = db.claim("q", 5)
    token = next(iter(held.values()))
    in_a_minute = db.one("select pgbaton._now() + interval '1 minute'")
    later = db.enqueue("q", None if enabled else "later", run_at=in_a_minute)
    mover = open_session()
    mover.begin()
    if what == "claim":
        moved = mover.claim("q", 5)
    elif what == "complete":
        moved = dict.fromkeys(list(held)[:2], token)
        assert set(mover.complete(moved)) == {"ok"}
    elif what == "release":
        mover.rows("select * from pgbaton.release_jobs(%s, %s)", list(held), token)
    elif what == "fail":
        mover.rows(
            "select * from pgbaton.fail_jobs(%s, %s::text[], %s)",
            list(held),
            ["broke"] * 5,
            token,
        )
    else:
        clock.advance("2 minutes")
        mover.rows("select pgbaton.run_maintenance()")
    change = db.start("select pgbaton.set_fifo_mode('q', %s, true)", enabled)
    change.until_blocked(mover)
    mover.commit()
    change.rows()
    sound()
    assert ("pgbaton.ready_span" in homes(db)) is not enabled
    # Nothing is lost: each job is handed out once more, or was before.
    clock.advance("5 minutes")
    done = {job for job in [*jobs, later] if db.one(ENDED, job)}
    while claimed := db.claim("q", 10):
        done |= set(claimed)
        db.complete(claimed)
    clock.advance("1 hour")
    while claimed := db.claim("q", 10):
        done |= set(claimed)
        db.complete(claimed)
    assert done == {*jobs, later}
    sound()


ENDED = "select exists (select from pgbaton.job_history as h where %s between h.lo and h.hi)"


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("enabled", [True, False])
def test_an_older_snapshot_does_not_put_a_span_where_it_belonged(
    db: Session, open_session: Open, sound: Callable[[], None], isolation: str, enabled: bool
) -> None:
    create = "create_queue" if enabled else "create_fifo_queue"
    db.rows(f"select pgbaton.{create}('q')")  # type: ignore[arg-type]
    db.enqueue_batch("q", 3, None if enabled else ["a", "b", "c"])
    held = db.claim("q", 3)
    token = next(iter(held.values()))
    old = open_session()
    old.begin_with_snapshot(isolation)
    db.rows("select pgbaton.set_fifo_mode('q', %s, true)", enabled)
    refusal = old.refusal("select * from pgbaton.release_jobs(%s, %s)", list(held), token)
    assert refusal == "40001"
    old.rollback()
    db.rows("select * from pgbaton.release_jobs(%s, %s)", list(held), token)
    sound()
    assert len(db.claim("q", 3)) == 3
