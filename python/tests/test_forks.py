"""A client in a forked process connects anew or raises, and spoils nothing of its parent."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from pgbaton import AsyncClient, Client, Worker, current_job, task


def in_child(work: Callable[[], object]) -> int:
    """What a forked process exits with: 0 unless it raises."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def backend(client: Client | AsyncClient) -> int:
    own = client._own
    assert own is not None
    assert own._connection is not None
    return own._connection.info.backend_pid


def test_a_client_of_a_dsn_connects_anew(dsn: str) -> None:
    with Client(dsn) as client:
        client.create_queue("q")
        theirs = backend(client)

        def work() -> None:
            assert client.enqueue_job("q", "child") > 0
            assert backend(client) != theirs
            client.close()

        assert in_child(work) == 0
        client.enqueue_job("q", "parent")
        assert client.queue_stats("q")[0].total == 2
        assert backend(client) == theirs


def test_a_call_of_another_thread_does_not_hold_the_child_up(dsn: str) -> None:
    """The parent is forked as it connects: nobody in the child would let that lock go."""
    with Client(dsn) as client:
        client.create_queue("q")
        assert client._own is not None

        def work() -> None:
            signal.alarm(20)
            client.enqueue_job("q")
            client.close()

        with client._own._lock:
            assert in_child(work) == 0
        assert client.queue_stats("q")[0].total == 1


def leave(client: Client) -> None:
    with client:
        pass


@pytest.mark.parametrize("end", [Client.close, leave, lambda client: client.__dict__.clear()])
def test_a_child_that_calls_nothing_leaves_the_connection(
    dsn: str, end: Callable[[Client], None]
) -> None:
    """It closes the client, leaves its block, or just forgets it."""
    with Client(dsn) as client:
        client.create_queue("q")
        theirs = backend(client)
        assert in_child(lambda: end(client)) == 0
        assert client.enqueue_job("q") > 0
        assert backend(client) == theirs


def test_the_connection_of_the_user_is_refused(dsn: str) -> None:
    with psycopg.connect(dsn) as connection, Client(connection=connection) as client:
        client.create_queue("q")

        def work() -> None:
            with pytest.raises(psycopg.InterfaceError, match="make a client in each process"):
                client.enqueue_job("q")
            client.close()

        assert in_child(work) == 0
        assert client.enqueue_job("q") > 0


def test_a_pool_of_the_user_is_refused(dsn: str) -> None:
    with ConnectionPool(dsn, min_size=1, open=True) as pool, Client(pool=pool) as client:
        client.create_queue("q")

        def work() -> None:
            with pytest.raises(psycopg.InterfaceError, match="make a client in each process"):
                client.enqueue_job("q")
            with Client(dsn) as other:
                assert other.enqueue_job("q") > 0

        assert in_child(work) == 0
        assert client.enqueue_job("q") > 0


def enqueue(client: Client, name: str) -> None:
    client.enqueue_batch("q", [name] * 50)


def test_many_processes_of_multiprocessing(dsn: str) -> None:
    with Client(dsn) as client:
        client.create_queue("q")
        fork = multiprocessing.get_context("fork")
        children = [fork.Process(target=enqueue, args=(client, str(i))) for i in range(4)]
        for child in children:
            child.start()
        enqueue(client, "parent")
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * 4
        assert client.queue_stats("q")[0].total == 250


def test_an_async_client_in_a_child_with_a_loop_of_its_own(dsn: str) -> None:
    async def parent() -> None:
        client = AsyncClient(dsn)
        await client.create_queue("q")
        theirs = backend(client)
        stream = client.stream_jobs("w")
        reading = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.2)

        def work() -> None:
            asyncio.events._set_running_loop(None)
            asyncio.run(child(client, theirs))

        def close() -> None:
            asyncio.events._set_running_loop(None)
            asyncio.run(only_close(client))

        assert in_child(work) == 0
        assert in_child(close) == 0  # it ends no stream of the parent
        [job] = await asyncio.wait_for(reading, 20)
        assert job.payload == "child"
        assert backend(client) == theirs
        await client.close()

    async def only_close(client: AsyncClient) -> None:
        await client.close()

    async def child(client: AsyncClient, theirs: int) -> None:
        await client.enqueue_job("q", "child")
        assert backend(client) != theirs
        await client.close()

    asyncio.run(parent())


def test_a_worker_made_before_the_fork_is_another_in_each_process(dsn: str) -> None:
    worker = Worker(dsn)
    done: list[Any] = []

    @worker.handler("q")
    def handle(job: Any) -> str:
        done.append(job.payload)
        worker.stop()
        return worker.worker_id

    with Client(dsn) as client:
        client.create_queue("q")
        ids = [client.enqueue_job("q", 1)]
        assert in_child(worker.run) == 0
        assert in_child(lambda: None) == 0
        ids.append(client.enqueue_job("q", 2))
        worker.run()
        assert done == [2]
        first, second = (client.get_job(job_id).result for job_id in ids)
        assert first != second == worker.worker_id


def test_tasks_and_a_lifespan_in_each_process(dsn: str) -> None:
    worker = Worker(dsn)
    began: list[int] = []

    @task("q")
    def add(a: int, b: int) -> list[int]:
        return [a + b, *current_job().state]

    @worker.lifespan
    def life() -> Iterator[list[int]]:
        began.append(os.getpid())
        yield list(began)

    worker.add(add)
    with Client(dsn) as client:
        client.create_queue("q")
        for _ in range(2):
            job_id = add.enqueue(client, 1, 2)
            assert in_child(lambda: worker.run(burst=True)) == 0
            result = client.get_job(job_id).result
            assert result[0] == 3
            assert len(result) == 2  # each child begins for itself
            assert result[1] != os.getpid()
        job_id = add.enqueue(client, 3, 4)
        worker.run(burst=True)
        assert client.get_job(job_id).result == [7, os.getpid()]


def test_a_handler_that_forks_does_not_disturb_its_worker(dsn: str) -> None:
    worker = Worker(dsn, capacity=1)
    ended: list[int] = []

    @worker.handler("q")
    def handle(job: Any) -> None:
        ended.append(in_child(lambda: None))
        if job.payload == 3:
            worker.stop()

    with Client(dsn) as client:
        client.create_queue("q")
        client.enqueue_batch("q", [1, 2, 3])
        worker.run()
        assert ended == [0, 0, 0]
        assert client.queue_stats("q")[0].completed == 3
