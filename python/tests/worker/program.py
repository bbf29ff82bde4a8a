"""A worker as a program: python program.py DSN CAPACITY SHUTDOWN_SECONDS.

A handler says that it has begun and obeys its payload. It reads no more than the file system: the
test opens the door, a file, to let it end.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from datetime import timedelta
from pathlib import Path

from pgbaton import RunningJob, Worker

dsn, capacity, seconds = sys.argv[1:]
worker = Worker(
    dsn,
    capacity=int(capacity),
    shutdown_timeout=timedelta(seconds=float(seconds)),
    poll_every=timedelta(seconds=1),
)


@worker.handler("mail", "sync")
def wait(job: RunningJob) -> None:
    print("begun", job.id, flush=True)
    while not Path(job.payload).exists():
        time.sleep(0.01)


@worker.handler("mail", "async")
async def wait_async(job: RunningJob) -> None:
    print("begun", job.id, flush=True)
    try:
        while not Path(job.payload).exists():
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        print("interrupted", job.id, flush=True)
        raise


@worker.handler("mail", "process", process=True)
def wait_in_process(job: RunningJob) -> None:
    job.report_progress(1)
    while not Path(job.payload).exists():
        time.sleep(0.01)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    worker.run()
    print("returned", flush=True)
