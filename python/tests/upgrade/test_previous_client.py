"""The client of a release works with the schema of this checkout, which is upgraded first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import frozen
import psycopg
import pytest
from invariants import assert_sound

# Runs where the frozen package is the one that is imported.
CALLS = """
import inspect, json, sys
import pgbaton
from pgbaton import Client


with Client(sys.argv[1]) as client:
    client.create_queue("mail", max_attempts=2, retry_delay="0")
    client.create_fifo_queue("orders", max_attempts=1)
    ids = client.enqueue_batch("orders", [1, 2, 3], ["a", "a", "b"])
    client.enqueue_jobs("mail", [{"payload": 1, "dedup_id": "x", "on_duplicate": "skip"}] * 2)
    client.enqueue_job("mail", {"n": 1}, priority=150, tags=["t"], job_type="letter")
    jobs = client.claim_job_batch("w", ["orders", "mail"], batch_size=10)
    token = jobs[0].lease_token
    client.start_jobs([job.id for job in jobs], token)
    client.report_progress(ids[0], token, 50, "half")
    client.extend_leases([ids[0]], token, "1 hour")
    client.fail_job(ids[0], "no", token)
    assert [b.job_id for b in client.blocked_keys("orders")] == [ids[0]]
    client.complete_jobs([ids[2]], token)
    client.complete_claim(token)
    client.why_not_running(ids[1])
    client.skip_job("orders", ids[0], "enough")
    [job] = client.claim_job_batch("w", ["orders"])
    client.complete_job(job.id, {"done": True}, job.lease_token)
    assert client.get_job(job.id).state == "completed"
    assert client.queue_stats("orders")[0].total == 0
    client.worker_heartbeat("w")
    client.run_maintenance()
    client.health()

methods = {
    name: [p for p in inspect.signature(method).parameters if p != "self"]
    for name, method in inspect.getmembers(Client, inspect.isfunction)
    if not name.startswith("_") and name != "close"
}
json.dump({"from": pgbaton.__file__, "methods": methods}, sys.stdout)
"""


@pytest.mark.parametrize("release", frozen.RELEASES[-1:])
def test_the_client_of_the_latest_release_works(release: str, dsn: str, tmp_path: Path) -> None:
    frozen.unpack(release, tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", CALLS, dsn],
        check=True,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
    ).stdout
    answer = json.loads(told)
    assert answer["from"].startswith(str(tmp_path))
    with psycopg.connect(dsn) as conn:
        assert_sound(conn)
        ours = dict(
            conn.execute(
                "select proname, proargnames[:pronargs] from pg_proc"
                " where pronamespace = 'pgbaton'::regnamespace"
            ).fetchall()
        )
    # All that this client could ever send is understood.
    assert answer["methods"]
    for name, parameters in answer["methods"].items():
        assert set(parameters) <= set(ours[name] or []), name
