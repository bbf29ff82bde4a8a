"""A thousand open streams in one gateway process, each served."""

from __future__ import annotations

import asyncio
import resource

import pytest
from many import Reader, open_readers
from serving import Served

from pgbaton import AsyncClient, Client

STREAMS = 1000


@pytest.mark.proof
def test_a_thousand_streams_are_served(
    gateway: Served, client: Client, queue: str, gateway_dsn: str
) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    listen = f"/{queue}/api/queue/listen?capacity=2"

    async def next_of_each(readers: list[Reader]) -> list[int]:
        came = await asyncio.gather(*(reader.message() for reader in readers))
        return sorted(int(message["id"]) for _, message in came)

    async def read_all() -> None:
        readers = await open_readers(gateway.url, listen, STREAMS)
        async with AsyncClient(gateway_dsn) as producer:
            ids = await producer.enqueue_batch(queue, range(STREAMS))
            first = [
                data["id"] for _, data in await asyncio.gather(*(r.message() for r in readers))
            ]
            assert sorted(map(int, first)) == ids, "each stream got one, and no two the same"

            ids = await producer.enqueue_batch(queue, range(STREAMS))
            assert await next_of_each(readers) == ids

            await producer.enqueue_batch(queue, range(STREAMS))
            stats = (await producer.live_stats(queue))[0]
            assert (stats.processing, stats.pending) == (2 * STREAMS, STREAMS), (
                "no more than 2 each"
            )
            for job_id in ids:
                await producer.complete_job(job_id)
        for reader in readers:
            reader.close()

    asyncio.run(read_all())
    while client.live_stats(queue)[0].processing:  # until all ends were seen
        pass
    assert gateway.get(f"/{queue}/api/queue/stats")["pending"] == 2 * STREAMS
