"""Spark Connect: the same without a JVM of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from drivers import connected, driver

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]


def test_enqueue_and_run_again_through_spark_connect(
    dsn: str,
    conn: psycopg.Connection[Any],
    drain: Callable[[str], list[tuple[Any, ...]]],
    tmp_path: Path,
) -> None:
    with driver(None, tmp_path) as found:
        counts, refusal = found.start(connected, dsn).result()
    assert counts == [(2000, 0), (0, 2000)]
    assert refusal == 'UnknownQueue: queue "nope" does not exist'
    seen: dict[str, list[int]] = {}
    for key, payload, _ in drain("orders"):
        seen.setdefault(key, []).append(payload["step"])
    assert sum(map(len, seen.values())) == 2000
    assert all(lane == sorted(lane) for lane in seen.values())
