"""run_maintenance once a minute: one does it, and when that one fails another does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Clock, Session

ONCE = "select pgbaton.run_maintenance(once_a_minute => true)"


@pytest.mark.parametrize("end", ["commit", "rollback", "death"])
def test_who_asks_while_another_session_is_at_it(
    db: Session, open_session: Callable[[], Session], clock: Clock, end: str
) -> None:
    first = open_session()
    first.begin()
    assert "skipped" not in first.one(ONCE)
    assert db.one(ONCE) == {"skipped": "another session is at it"}
    if end == "death":
        db.rows("select pg_terminate_backend(%s, 60000)", first.pid)
    else:
        first.end(end)
    if end == "commit":
        assert db.one(ONCE) == {"skipped": "it was done in this minute"}
        clock.advance("1 minute")
    assert "skipped" not in db.one(ONCE)
