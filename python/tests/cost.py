"""What a call reads, counted by the server: buffers and rows instead of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sessions import Session


@dataclass(frozen=True)
class Cost:
    """Of one statement. `reads` has the rows that were read of each table and index."""

    rows: int
    buffers: int
    reads: dict[str, int]
    scanned_whole: list[str]


def counted(db: Session) -> dict[str, tuple[str, int, int]]:
    """Kind, scans and rows read of each table and index, in this transaction so far."""
    found = db.rows(
        "select c.relname, c.relkind::text, pg_stat_get_xact_numscans(c.oid),"
        " pg_stat_get_xact_tuples_returned(c.oid) from pg_class as c"
        " where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'i')"
    )
    return {name: (kind, scans, rows) for name, kind, scans, rows in found}


def measure(db: Session, statement: str, *args: Any) -> Cost:
    """Runs a statement in the open transaction and says what it read."""
    before = counted(db)
    ((explained,),) = db.rows(f"explain (analyze, buffers, format json) {statement}", *args)
    plan = explained[0]["Plan"]
    reads: dict[str, int] = {}
    whole: list[str] = []
    for name, (kind, scans, rows) in counted(db).items():
        _, scans_before, rows_before = before.get(name, (kind, 0, 0))
        if rows > rows_before:
            reads[name] = rows - rows_before
        if kind == "r" and scans > scans_before:
            whole.append(name)
    return Cost(
        rows=plan["Actual Rows"],
        buffers=plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
        reads=reads,
        scanned_whole=whole,
    )
