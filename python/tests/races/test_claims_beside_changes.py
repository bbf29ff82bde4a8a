"""A claim from the front of one span, and what happens to its queue while it is under way.

It has read what the queue is, then somebody changes that, then it looks for its jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import LiteralString

import pytest
from sessions import Session

Open = Callable[[], Session]
Sound = Callable[[], None]
JOBS = 10
CHANGES: dict[str, LiteralString] = {
    "nothing": "select",
    "paused": "select pgbaton.pause_queue('q')",
    "dropped": "select pgbaton.drop_queue('q', true)",
    "made again": "select pgbaton.drop_queue('q', true), pgbaton.create_queue('q')",
    "in order": "select pgbaton.set_fifo_mode('q', true)",
    "with another lease": "select pgbaton.update_queue('q', lease => '1 hour')",
    "limited": "select pgbaton.set_queue_limits('q', max_running => 4)",
    "emptied": "select from pgbaton.cancel_jobs(job_ids => array(select id from pgbaton.job))",
    "claimed from": "select from pgbaton.claim_job_batch('v', '{q}', batch_size => 2)",
    "claimed from but for one": "select from pgbaton.claim_job_batch('v', '{q}', batch_size => 9)",
    "with an urgent job": "select pgbaton.enqueue_job('q', priority => 200)",
    "with a job in front": "select pgbaton.change_priority('q', max(id), 200) from pgbaton.job",
    "postponed": "select pgbaton.reschedule_job('q', min(id), 'tomorrow') from pgbaton.job",
}
SIZES = [1, 9, 10, 11]
CLAIM = "select id from pgbaton.claim_job_batch('w', '{q}', batch_size => %s)"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("end", ["before", "after"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_queue_that_is_changed_meanwhile(
    db: Session, gate: Session, open_session: Open, sound: Sound, change: str, end: str, size: int
) -> None:
    """The change ends before the claim goes on, or after the claim has ended."""
    db.rows("select pgbaton.create_queue('q')")
    db.enqueue_batch("q", JOBS)
    other = open_session()
    claim = db.start(CLAIM, size)
    claim.until_blocked(gate)
    other.begin()
    other.rows(CHANGES[change])
    if end == "before":
        other.commit()
    gate.commit()
    refusal = claim.refusal()
    if end == "after":
        other.commit()
    if refusal is None:
        claimed = [job for (job,) in claim.rows()]
        assert len(claimed) <= size
        if end == "before" and change in ("with an urgent job", "with a job in front"):
            assert claimed[0] == max(claimed)
            del claimed[0]
        assert claimed == sorted(claimed)
    else:
        assert (change, end, refusal) == ("limited", "before", "40001")
        claimed = []
    sound()
    assert not other.rows("""
        select from pgbaton.leased_span as s
        where (select q.policy from pgbaton.queue as q where q.id = s.queue_id) <> 'standard'
    """)
    assert not other.rows("""
        select from pgbaton.span as s
        where not exists (select from pgbaton.queue as q where q.id = s.queue_id)
    """)
    if end == "before" and change in ("dropped", "made again", "emptied"):
        assert not claimed
    if change in ("nothing", "with another lease"):
        assert len(claimed) == min(size, JOBS)
    if change == "limited":
        running = "select coalesce(sum(s.hi - s.lo + 1), 0) from pgbaton.held_span as s"
        assert other.one(running) <= 4
    if change in ("in order", "with an urgent job", "paused"):
        other.rows("select pgbaton.resume_queue('q')")
        rest = list(other.claim("q", 100))
        assert not set(rest) & set(claimed)
        urgent = change == "with an urgent job" and end == "after"
        assert len(rest) + len(claimed) == JOBS + urgent
