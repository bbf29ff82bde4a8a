"""A worker process of the demo: claims batches, checks their order, completes them."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event

from pgbaton.client import Client
from pgbaton.demo._flights import pipeline
from pgbaton.models import ClaimedJob

AIRCRAFT: str = pipeline().AIRCRAFT
UNKNOWN_AIRCRAFT: str = pipeline().UNKNOWN_AIRCRAFT
IDLE_SECONDS = 0.05


@dataclass(frozen=True)
class Leg:
    """One leg of one aircraft."""

    tailnum: str
    number: int


@dataclass
class Report:
    """What a worker saw."""

    worker: str
    completed: int = 0
    refused: int = 0
    out_of_order: int = 0
    example: str = ""


def work(
    dsn: str, name: str, batch_size: int, broken: Leg, stop: Event, reports: SimpleQueue[Report]
) -> None:
    """Works until `stop` is set and nothing is left to claim, then reports.

    Gives up when the demo was killed.
    """
    demo = parent_process()
    report = Report(name)
    flown: dict[str, int] = {}
    with Client(dsn) as client:
        while demo is None or demo.is_alive():
            jobs = client.claim_job_batch(
                name, queues=[AIRCRAFT, UNKNOWN_AIRCRAFT], batch_size=batch_size
            )
            if jobs:
                _fly(client, jobs, broken, flown, report)
            elif stop.wait(IDLE_SECONDS):
                break
    reports.put(report)


def _fly(
    client: Client, jobs: list[ClaimedJob], broken: Leg, flown: dict[str, int], report: Report
) -> None:
    results = {}
    for job in jobs:
        leg = Leg(job.singleton_key or "", job.payload["leg"])
        if leg == broken and job.attempt == 1:
            client.fail_job(job.id, "engine warning", job.lease_token, retryable=False)
            continue
        if job.singleton_key is not None:
            if leg.number <= flown.get(leg.tailnum, 0):
                report.out_of_order += 1
                report.example = f"{leg.tailnum}: leg {leg.number} after {flown[leg.tailnum]}"
            flown[leg.tailnum] = leg.number
        results[job.id] = pipeline().result_of(job.payload)
    verdicts = client.complete_jobs(results, jobs[0].lease_token, results.values())
    completed = sum(v.verdict == "ok" for v in verdicts)
    report.completed += completed
    report.refused += len(results) - completed
