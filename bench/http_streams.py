"""A thousand open streams of one gateway process (extra: http)."""

from __future__ import annotations

import asyncio
import resource
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests" / "gateway"))

from many import Reader, open_readers
from serving import serving
from worker_runtime import percentile, ticks_of

from pgbaton import AsyncClient

STREAMS = 1000
CAPACITY = 100


@dataclass
class Streamed:
    """What it took."""

    open_s: float
    all_served_s: float
    """From one bulk enqueue until each stream has a message."""
    push_ms: list[float]
    """From the enqueue of a single message until one of the streams has it."""
    idle_share: float
    memory_mb: float


def measured(dsn: str, pushes: int, idle_seconds: float) -> Streamed:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with serving(dsn, "--cleanup-interval", "0") as served:
        process = str(served.process.pid)
        return asyncio.run(streamed(dsn, served.url, process, pushes, idle_seconds))


async def streamed(dsn: str, url: str, process: str, pushes: int, idle_seconds: float) -> Streamed:
    started = time.perf_counter()
    listen = f"/plain/api/queue/listen?capacity={CAPACITY}"
    readers = await open_readers(url, listen, STREAMS)
    open_s = time.perf_counter() - started
    async with AsyncClient(dsn) as producer:
        started = time.perf_counter()
        await producer.enqueue_batch("plain", range(STREAMS))
        came = await asyncio.gather(*(reader.message() for reader in readers))
        all_served_s = max(at for at, _ in came) - started
        push_ms = await pushed(producer, readers, pushes)
    before = ticks_of(process)
    await asyncio.sleep(idle_seconds)
    idle = (ticks_of(process) - before) / 100 / idle_seconds
    memory = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 1e6
    for reader in readers:
        reader.close()
    return Streamed(open_s, all_served_s, push_ms, idle, memory)


async def pushed(producer: AsyncClient, readers: list[Reader], times: int) -> list[float]:
    """Now and then a message."""
    came: asyncio.Queue[float] = asyncio.Queue()

    async def read(reader: Reader) -> None:
        while True:
            at, _ = await reader.message()
            came.put_nowait(at)

    reading = [asyncio.create_task(read(reader)) for reader in readers]
    waits = []
    for n in range(times):
        started = time.perf_counter()
        await producer.enqueue_job("plain", n)
        waits.append((await came.get() - started) * 1000)
        await asyncio.sleep(0.1)
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    return waits


def figures_of(found: Streamed) -> dict[str, float]:
    return {
        "open_s": round(found.open_s, 2),
        "all_served_s": round(found.all_served_s, 3),
        "push_p50_ms": round(statistics.median(found.push_ms), 2),
        "push_p95_ms": round(percentile(found.push_ms, 0.95), 2),
        "idle_share_of_a_core": round(found.idle_share, 4),
        "memory_mb": round(found.memory_mb),
    }
