"""A key that several jobs hold costs that key, not the claims of others.

No call brings one about; here it is written into the tables.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Session

Sound = Callable[[], None]


@pytest.mark.parametrize("one_runs", [True, False])
@pytest.mark.parametrize("same_lane", [True, False])
@pytest.mark.parametrize("size", [1, 100])
def test_a_claim_sets_it_aside(
    db: Session, sound: Sound, one_runs: bool, same_lane: bool, size: int
) -> None:
    db.rows("select pgbaton.create_fifo_queue('q'), pgbaton.create_queue('other')")
    keys = [db.enqueue("q", f"key {n}") for n in range(5)]
    first = db.enqueue("q", "broken")
    if one_runs:
        db.claim("q")
    second = db.enqueue("q", "broken", priority=100 if same_lane else 150)
    others = [db.enqueue("q", f"later key {n}") for n in range(5)] + [db.enqueue("other")]
    db.rows(
        "update pgbaton.span set state = 'pending', ready = true, held_key = singleton_key,"
        " slot = pgbaton._slot(null, 'pending', null, 0, singleton_key, lo) where lo = %s",
        second,
    )
    claimed: list[int] = []
    for _ in range(30):
        batch = db.rows(
            "select id, lease_token from pgbaton.claim_job_batch('w', batch_size => %s)", size
        )
        claimed += [job for job, _ in batch]
    expected = {*others} if one_runs else {*keys, *others}
    kept = {*claimed} - expected
    assert len(claimed) == len(expected) + len(kept), "each once, and none is held up"
    assert len(kept) == (0 if one_runs else 1), "one of the broken key, unless one runs"
    assert kept <= {first, second}
    aside = first if second in kept else second
    assert db.rows(
        "select job_id, singleton_key from pgbaton.audit where action = 'set_aside'"
    ) == [(aside, "broken")]
    [(status, detail)] = db.rows(
        "select status, detail from pgbaton.health() where check_name = 'broken keys'"
    )
    assert status == "warn"
    assert str(aside) in detail
    sound()

    holder = first + second - aside
    token = db.one("select lease_token from pgbaton.span where lo = %s", holder)
    db.rows("select pgbaton.complete_job(%s, lease_token => %s)", holder, token)
    assert set(db.claim("q")) == {aside}
    sound()
