"""The pair of sessions that all matrices of calls use."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sessions import Session
from test_old_snapshots import Matrix


@pytest.fixture
def matrix(open_session: Callable[[], Session]) -> Iterator[Matrix]:
    db = open_session()
    yield Matrix(db, open_session(), open_session())
    db.rows("rollback")
    db.rows("drop function public.scene, public.clear; drop procedure public.drain")
