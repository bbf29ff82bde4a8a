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


def say(line: str) -> None:
    """With its end at once: handlers run side by side, and print writes the end by itself."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@worker.handler("mail", "sync")
def wait(job: RunningJob) -> None:
    say(f"begun {job.id}")
    while not Path(job.payload).exists():
        time.sleep(0.01)


@worker.handler("mail", "async")
async def wait_async(job: RunningJob) -> None:
    say(f"begun {job.id}")
    try:
        while not Path(job.payload).exists():
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        say(f"interrupted {job.id}")
        raise


@worker.handler("mail", "process", process=True)
def wait_in_process(job: RunningJob) -> None:
    job.report_progress(1)
    while not Path(job.payload).exists():
        time.sleep(0.01)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    worker.run()
    say("returned")
