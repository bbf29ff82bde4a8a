"""Spark Connect: the same without a JVM to ask."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from drivers import run_program

# In one session: its server takes a JVM of its own.
pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]


@pytest.fixture
def empty_dsn(make_database: Callable[..., str], template: str) -> str:
    return make_database(template)


def test_all_ways_of_reading_agree_and_a_run_comes_once(
    dsn: str, empty_dsn: str, conn: psycopg.Connection[Any], queues: None, tmp_path: Path
) -> None:
    with psycopg.connect(empty_dsn, autocommit=True) as other:
        other.execute("select pgbaton.create_fifo_queue('orders')")
    conn.execute(
        "select pgbaton.enqueue_batch('mail', array_fill('{\"n\": 9007199254740993}'::jsonb,"
        " array[40]), tags => '{a,\"b c\"}', run_at => '2020-07-01 12:00:00.123456+00')"
    )
    conn.execute(
        "select pgbaton.complete_jobs("
        "array_agg(id), max(lease_token), array_agg('{\"é\": 1.10}'::jsonb))"
        " from pgbaton.claim_job_batch('w', '{mail}', batch_size => 30)"
    )
    script = Path(__file__).parent / "connect_reads.py"
    done = run_program([sys.executable, str(script), dsn, empty_dsn, str(tmp_path)])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["session"].startswith("pyspark.sql.connect")
    assert len(found["history"]) == 30
    assert found["jdbc_is_the_same"]
    assert found["jdbc"] == found["history"]
    assert '{"n": 9007199254740993}' in found["history"][0]
    assert '{"é": 1.10}' in found["history"][0]
    assert "['a', 'b c']" in found["history"][0]
    assert "1593604800.123456" in found["history"][0]
    for kind, jobs in (("live", 10), ("finished", 30)):
        half = jobs // 2
        assert found["filtered"][kind] == {
            "in turn": [jobs, 0, half, jobs, half, half],
            "unions": [jobs, jobs, half],
            "joins": [0, half],
            "in SQL": [3 * half],
        }
    assert (found["pending"], found["blocked"], found["acked"]) == (10, 0, 6)
    assert found["streamed"] == 36
    assert found["enqueued"] == [[2000, 0], [0, 2000]]
    assert found["refusal"] == 'UnknownQueue: queue "nope" does not exist'
    with psycopg.connect(empty_dsn, autocommit=True) as other:
        seen = in_order(other)
    assert sum(map(len, seen.values())) == 2000
    assert all(lane == sorted(lane) for lane in seen.values())


def in_order(conn: psycopg.Connection[Any]) -> dict[str, list[int]]:
    """The steps of each key in the order of their claims."""
    seen: dict[str, list[int]] = {}
    claim = (
        "select singleton_key, (payload -> 'step')::int, lease_token"
        " from pgbaton.claim_job_batch('w', '{orders}')"
    )
    while jobs := conn.execute(claim).fetchall():
        for key, step, _ in jobs:
            seen.setdefault(key, []).append(step)
        conn.execute("select pgbaton.complete_claim(%s)", [jobs[0][2]])
    return seen
