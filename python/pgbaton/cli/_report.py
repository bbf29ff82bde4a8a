"""report: the state of now in one file, for a ticket."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Annotated, Any

import psycopg
import typer

from pgbaton.cli._errors import say
from pgbaton.cli._io import Dsn, client_of
from pgbaton.cli._text import clean, duration
from pgbaton.client import Client
from pgbaton.errors import NotPermitted
from pgbaton.models import LiveStat

MOST_ROWS = 200
STYLE = """
:root { color-scheme: light dark; font: 1rem/1.4 system-ui, sans-serif }
body { margin: 1rem auto; max-width: 80rem; padding: 0 1rem }
section { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid; padding: .25rem .5rem; text-align: left; vertical-align: top }
td { overflow-wrap: anywhere }
.number { text-align: right; white-space: nowrap }
.bad, .warn { font-weight: bold }
"""
Cells = Sequence[object]


def report(
    out: Annotated[
        Path, typer.Option(help="The file to write, - for stdout.", allow_dash=True)
    ] = Path("report.html"),
    dsn: Dsn = "",
) -> None:
    """Write the present state into one HTML file for a ticket, without payloads."""
    with client_of(dsn) as client:
        page = page_of(client, datetime.now(UTC))
    if str(out) == "-":
        sys.stdout.flush()
        # It says that it is UTF-8, whatever the terminal has.
        sys.stdout.buffer.write(page.encode())
    else:
        out.write_text(page, encoding="utf-8")
        say(f"wrote {out}")


def page_of(client: Client, now: datetime) -> str:
    """The whole file. What the role may not see is named as such."""
    version = client.version()
    parts: list[tuple[str, Callable[[Client], str]]] = [
        ("Health", _health),
        ("Blocked keys", _blocked),
        ("Dead letters", _dead),
        ("Queues", _queues),
        ("Workers", _workers),
        ("Schedules", _schedules),
    ]
    sections = "\n".join(_section(name, part, client) for name, part in parts)
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    at = _cell(now)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>pgbaton report</title>
<style>{STYLE}</style>
</head>
<body>
<h1>pgbaton report</h1>
<p>{at}, pgbaton {_cell(version)}. Payloads are left out.</p>
<main>
{sections}
</main>
</body>
</html>
"""


def _section(name: str, part: Callable[[Client], str], client: Client) -> str:
    try:
        body = part(client)
    except (psycopg.errors.InsufficientPrivilege, NotPermitted):
        body = "<p>This role may not see them.</p>"
    return f"<section>\n<h2>{name}</h2>\n{body}\n</section>"


def _health(client: Client) -> str:
    order = {"bad": 0, "warn": 1}
    checks = sorted(client.health(), key=lambda check: order.get(check.status, 2))
    return _table(
        ["status", "check", "what was seen"], [(c.status, c.check_name, c.detail) for c in checks]
    )


def _blocked(client: Client) -> str:
    return _table(
        ["queue", "key", "job", "state", "since", "attempts", "waiting", "runs again", "error"],
        [
            (
                b.queue,
                b.singleton_key,
                str(b.job_id),
                b.state,
                b.blocked_since,
                b.attempts,
                b.waiting_count,
                b.next_run_at or "not by itself",
                b.last_error,
            )
            for b in client.blocked_keys()
        ],
    )


def _dead(client: Client) -> str:
    found = client.find_jobs({"states": ["failed"]}, MOST_ROWS + 1)
    return _table(
        ["job", "queue", "key", "type", "attempts", "failed", "worker", "error"],
        [
            (
                str(j.id),
                j.queue,
                j.singleton_key,
                j.job_type,
                j.attempt,
                j.ended_at,
                j.worker_id,
                j.error_message,
            )
            for j in client.list_jobs(found.job_ids)
        ],
    )


def _queues(client: Client) -> str:
    busy = [queue for queue in client.live_stats() if is_busy(queue)]
    table = _table(
        [
            "queue", "ready", "running", "failed", "waiting", "retrying", "scheduled",
            "blocked keys", "oldest ready",
        ],
        [
            (
                q.queue + (" (paused)" if q.is_paused else ""),
                q.pending,
                q.processing,
                q.dlq,
                q.waiting,
                q.retrying + q.recovered,
                q.scheduled,
                q.blocked_keys,
                q.oldest_ready_age,
            )
            for q in busy
        ],
    )  # fmt: skip
    return f"<p>Those without jobs that are not paused are left out.</p>\n{table}"


def is_busy(queue: LiveStat) -> bool:
    """Whether it has jobs, or is paused."""
    counts = (queue.pending, queue.processing, queue.dlq, queue.waiting, queue.retrying)
    return queue.is_paused or any(counts) or queue.recovered > 0 or queue.scheduled > 0


def _workers(client: Client) -> str:
    return _table(
        ["worker", "runs", "of", "last heartbeat", "asleep since"],
        [
            (w.worker_id, w.running_jobs, w.capacity, w.heartbeat_at, w.asleep_at)
            for w in client.list_workers()
        ],
    )


def _schedules(client: Client) -> str:
    return _table(
        ["schedule", "queue", "cron", "zone", "next", "last", "last job", "error"],
        [
            (
                s.name + (" (paused)" if s.is_paused else ""),
                s.queue,
                s.cron,
                s.time_zone,
                s.next_run_at,
                s.last_run_at,
                None if s.last_job_id is None else str(s.last_job_id),
                s.last_error,
            )
            for s in client.list_schedules()
        ],
    )


def _table(heads: Iterable[str], rows: Sequence[Cells]) -> str:
    """Rows that are too many are counted instead."""
    if not rows:
        return "<p>None.</p>"
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "\n".join(f"<tr>{''.join(map(_td, row))}</tr>" for row in rows[:MOST_ROWS])
    more = f"\n<p>Only the first {MOST_ROWS} are shown.</p>" if len(rows) > MOST_ROWS else ""
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>{more}"


def _td(value: object) -> str:
    is_number = isinstance(value, int | timedelta)
    kind = "number" if is_number else str(value) if value in ("bad", "warn") else ""
    return f'<td class="{kind}">{_cell(value)}</td>' if kind else f"<td>{_cell(value)}</td>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        at = value.astimezone(UTC)
        return f'<time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M:%S} UTC</time>'
    if isinstance(value, timedelta):
        return escape(duration(value))
    if isinstance(value, int):
        return f"{value:,}"
    return escape(clean(str(value)))
