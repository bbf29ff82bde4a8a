"""What several files of races need."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sessions import Session

Open = Callable[[], Session]


@pytest.fixture
def gate(db: Session, open_session: Open) -> Iterator[Session]:
    """While it is open, claims of db wait where they know their queues and have picked nothing."""
    gate = open_session()
    source = gate.one("select pg_get_functiondef('pgbaton._is_tended'::regproc)")
    gate.rows("""
        create or replace function pgbaton._is_tended(at timestamptz) returns boolean
        language plpgsql as $$ begin
            if current_setting('tap.waits', true) = 'yes' then
                perform pg_advisory_xact_lock_shared(17);
            end if;
            return true;
        end $$
    """)
    db.rows("set tap.waits = 'yes'")
    gate.begin()
    gate.rows("select pg_advisory_xact_lock(17)")
    yield gate
    gate.rows("rollback")
    gate.rows(source)
