"""How long the operator's page waits for its calls: list, filter, detail, blocked keys, one look.

    .venv/bin/python bench/desk.py --jobs 1000000 --dead 10000

Three tenths of the jobs are live and wait, each a row of its own (of a key, or with a time of its
own); the others have ended, and the dead letters are spread over them. Fifty further queues have
dead letters of their own, as many in all. Each call is made often, in turn, with other arguments
each time. Printed are medians and 95th percentiles in milliseconds, as a client over a socket sees
them. The server is a new one, with the settings of the other benchmarks.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bench_server import SETTINGS

from pgbaton import Client, embedded, install

AT_ONCE = 10_000
KEYS = 20_000
FURTHER_QUEUES = 50
dice = random.Random()  # noqa: S311  nothing is secret
CALLS = 100
SMALL = {"order": 17, "customer": "c", "items": [1, 2, 3]}


def fill(client: Client, jobs: int, dead: int) -> None:
    client.create_fifo_queue("orders", max_attempts=1)
    client.create_queue("mail", max_attempts=1)
    ended = jobs * 7 // 10 // AT_ONCE * AT_ONCE
    for start in range(0, ended, AT_ONCE):
        some = [SMALL | {"order": start + n} for n in range(AT_ONCE)]
        client.enqueue_batch("mail", some, tags=["red"], job_type="confirm")
        claimed = client.claim_job_batch("w", ["mail"], batch_size=AT_ONCE)
        failing = claimed[:: max(1, ended // dead)]
        token = claimed[0].lease_token
        client.fail_jobs(
            [job.id for job in failing], ["timeout of the printer"] * len(failing), token
        )
        client.complete_claim(token)
    waiting = jobs - ended
    for start in range(0, waiting, AT_ONCE):
        keys = [f"customer {(start + n) % KEYS}" for n in range(min(AT_ONCE, waiting - start))]
        client.enqueue_batch("orders", [{"n": n} for n in range(len(keys))], singleton_keys=keys)
    blocking = client.claim_job_batch("w", ["orders"], batch_size=300)
    token = blocking[0].lease_token
    client.fail_jobs([job.id for job in blocking], ["card declined"] * len(blocking), token)
    for n in range(FURTHER_QUEUES):
        fill_with_dead_letters(client, f"further {n}", dead // FURTHER_QUEUES)


def fill_with_dead_letters(client: Client, queue: str, dead: int) -> None:
    client.create_queue(queue, max_attempts=1)
    client.enqueue_batch(queue, [SMALL] * dead)
    claimed = client.claim_job_batch("w", [queue], batch_size=dead)
    token = claimed[0].lease_token
    client.fail_jobs([job.id for job in claimed], ["no answer"] * dead, token)


def calls_of(client: Client, jobs: int, before_all: datetime) -> dict[str, Callable[[], Any]]:
    def listed(filter: Any) -> None:
        client.list_jobs(client.find_jobs(filter).job_ids)

    def detail() -> None:
        job_id = dice.randint(1, jobs)
        client.get_job(job_id)
        client.job_attempts(job_id, 100)
        client.job_dependencies(job_id, 100)
        client.why_not_running(job_id)

    def blocked(key: str | None = None) -> None:
        client.list_blocked_keys(client.find_blocked_keys(None, key, 20).job_ids)

    return {
        "list: the latest": lambda: listed({}),
        "list: of a queue, dead letters": lambda: listed({"queue": "mail", "states": ["failed"]}),
        "list: of a queue, waiting": lambda: listed({"queue": "orders", "states": ["waiting"]}),
        "filter: type and tag": lambda: listed({"job_type": "confirm", "tags": ["red"]}),
        "filter: a worker that has none": lambda: listed({"worker_id": "nobody"}),
        "filter: dead letters with an error": lambda: listed(
            {"states": ["failed"], "error": "printer"}
        ),
        "filter: dead letters, none has the error": lambda: listed(
            {"states": ["failed"], "error": "never"}
        ),
        "filter: the same, of one queue": lambda: listed(
            {"queue": "mail", "states": ["failed"], "error": "never"}
        ),
        "filter: an error that none has": lambda: listed({"error": "never"}),
        "filter: a payload that none has": lambda: listed({"payload": {"order": -1}}),
        "filter: dead letters, none has it": lambda: listed(
            {"states": ["failed"], "payload": {"order": -1}}
        ),
        "filter: a key": lambda: listed({"singleton_key": f"customer {dice.randrange(KEYS)}"}),
        "filter: enqueued before the first": lambda: listed({"created_before": before_all}),
        "detail of a job": detail,
        "dead letters of a queue": lambda: client.list_dead_jobs("mail", 21, dice.randrange(500)),
        "blocked keys": blocked,
        "blocked keys: a part": lambda: blocked(f"customer {dice.randrange(300)}"),
        "blocked_keys(), all at once": client.blocked_keys,
        "live_stats, up to 10,000": lambda: client.live_stats(most=10_000),
        "live_stats, all": client.live_stats,
        "health": client.health,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--dead", type=int, default=10_000)
    given = parser.parse_args()
    dice.seed(1)
    with embedded.temporary_server(embedded.default_bindir(), SETTINGS, durable=True) as server:
        dsn = server.dsn()
        install.install(dsn)
        with Client(dsn) as client:
            began = time.monotonic()
            before_all = datetime.now(UTC)
            fill(client, given.jobs, given.dead)
            print(f"filled in {time.monotonic() - began:.0f} s")
            calls = calls_of(client, given.jobs, before_all)
            taken: dict[str, list[float]] = {name: [] for name in calls}
            for _ in range(CALLS):
                for name, call in calls.items():
                    before = time.perf_counter()
                    call()
                    taken[name].append(1000 * (time.perf_counter() - before))
            print(f"{'ms':<42}{'median':>8}{'p95':>8}")
            for name, times in taken.items():
                p95 = statistics.quantiles(times, n=20)[-1]
                print(f"{name:<42}{statistics.median(times):>8.1f}{p95:>8.1f}")


if __name__ == "__main__":
    main()
