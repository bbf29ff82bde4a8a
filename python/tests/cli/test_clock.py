"""Whether a worker lives is told by the server's clock, whatever that of who looks says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from rich.console import Console

from pgbaton import Client, metrics
from pgbaton.cli import _screen, _text


class Wrong(datetime):
    """A datetime whose now is wrong by `shift`."""

    shift = timedelta()

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return datetime.now(UTC) + cls.shift


@pytest.mark.parametrize("minutes", [-5, 0, 5])
def test_a_worker_lives_or_not_whatever_the_clock_of_who_looks(
    client: Client, dsn: str, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    monkeypatch.setattr(Wrong, "shift", timedelta(minutes=minutes))
    for module in (_screen, _text, metrics):
        monkeypatch.setattr(module, "datetime", Wrong, raising=False)
    client.worker_heartbeat("alive")
    client.worker_heartbeat("gone")
    client.worker_heartbeat("stuck")
    client.enqueue_job("mail")
    client.claim_job_batch("stuck", ["mail"])
    with psycopg.connect(dsn) as conn:
        conn.execute(
            "update pgbaton.worker set heartbeat_at = heartbeat_at - interval '3 minutes'"
            " where worker_id <> 'alive'"
        )

    said = {
        metric.name: metric.samples[0].value
        for metric in metrics.worker_gauges(client.list_workers())
    }
    assert said["pgbaton_workers"] == 1
    assert said["pgbaton_stale_workers"] == 1

    screen = _screen.Screen(client, every=0)
    screen.refresh()
    console = Console(width=200)
    with console.capture() as captured:
        console.print(screen.render())
    rows = {line.split()[0]: line for line in captured.get().splitlines() if line}
    assert "3m ago" in rows["stuck"]
    assert "ms ago" in rows["alive"] or "s ago" in rows["alive"]
    assert "gone" not in rows
