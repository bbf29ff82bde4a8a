"""docs/reference.md says what the comments of the functions say."""

from __future__ import annotations

import importlib

import pytest
from sessions import Session

from pgbaton import _assemble

ROOT = _assemble.source_root()


def test_it_is_current(db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "python" / "docs"))
    page = importlib.import_module("reference").page(db.conn)
    written = (ROOT / "docs" / "reference.md").read_text("utf-8")
    # Its lines are wrapped by python/docs/wrap.py.
    assert written.split() == page.split(), "run `make docs` and `make fmt`"
