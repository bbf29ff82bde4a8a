"""Time: the clock of a client never matters."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from sessions import Session

# A process in which it is five minutes later or earlier than everywhere else.
CLIENT_WITH_ANOTHER_CLOCK = """
import datetime, json, sys, time
offset = datetime.timedelta(seconds=int(sys.argv[2]))
real, real_time = datetime.datetime, time.time
class Shifted(real):
    @classmethod
    def now(cls, tz=None):
        return real.now(tz) + offset
    @classmethod
    def utcnow(cls):
        return real.utcnow() + offset
datetime.datetime = Shifted
time.time = lambda: real_time() + offset.total_seconds()

import pgbaton
with pgbaton.Client(sys.argv[1]) as queue:
    queue.create_fifo_queue("q")
    queue.enqueue_job("q", singleton_key="delayed", delay="1 hour")
    for key in ("done", "failed", "held"):
        queue.enqueue_job("q", singleton_key=key)
    jobs = queue.claim_job_batch("w", ["q"], lease="1 minute")
    queue.worker_heartbeat("w")
    token = jobs[0].lease_token
    queue.complete_job(jobs[0].id, lease_token=token)
    queue.fail_job(jobs[1].id, "no", lease_token=token, retry_in="30 seconds")
    queue.extend_leases([jobs[2].id], token, lease="2 minutes")
    queue.run_maintenance()
    print(json.dumps([job.singleton_key for job in jobs]))
"""


@pytest.mark.parametrize("seconds", [300, -300])
def test_a_client_whose_clock_is_five_minutes_off(
    db: Session, races_dsn: str, seconds: int
) -> None:
    before = db.one("select clock_timestamp()")
    done = subprocess.run(
        [sys.executable, "-c", CLIENT_WITH_ANOTHER_CLOCK, races_dsn, str(seconds)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["done", "failed", "held"]
    # All that happened did so between these two instants of the server, or so long afterwards.
    instants = db.rows(
        "select created_at, claimed_at, case singleton_key"
        "   when 'delayed' then run_at - interval '1 hour'"
        "   when 'failed' then run_at - interval '30 seconds'"
        "   when 'held' then lease_until - interval '2 minutes' end"
        " from pgbaton.live_jobs"
        " union all select created_at, claimed_at, finished_at from pgbaton.finished_jobs"
        " union all select heartbeat_at, null, null from pgbaton.worker"
    )
    after = db.one("select clock_timestamp()")
    seen = [instant for row in instants for instant in row if instant is not None]
    assert len(seen) == 12
    assert all(before <= instant <= after for instant in seen), (before, seen, after)
    assert db.claim("q") == {}
