"""StreamJobs of specification c: a named test for each of its postconditions and effects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from invariants import empty

from pgbaton import AsyncClient, ClaimedJob, Client, UnknownQueue
from pgbaton._async.operator import OperatorCalls
from pgbaton._async.queue import QueueCalls
from pgbaton._async.streams import ENDS_JOBS, ENDS_OTHERS
from pgbaton._async.worker import WorkerCalls

PATIENCE = 60
Conn = psycopg.Connection[Any]


@pytest.fixture
def dsn(reused_dsn: str) -> str:
    with psycopg.connect(reused_dsn) as conn:
        empty(conn)
    return reused_dsn


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    """Another client than the one that streams: a producer, an operator, another worker."""
    with Client(dsn) as client:
        client.create_queue("c", retry_delay=timedelta(0), retry_backoff=False)
        yield client


class Consumer:
    """A stream in a task of its own, which takes what comes, or waits to be told to."""

    def __init__(self, stream: AsyncIterator[list[ClaimedJob]]) -> None:
        self.batches: list[list[ClaimedJob]] = []
        self.may_take = asyncio.Event()
        self.may_take.set()
        self.task = asyncio.create_task(self._take(stream))

    @property
    def jobs(self) -> list[ClaimedJob]:
        return [job for batch in self.batches for job in batch]

    @property
    def ids(self) -> list[int]:
        return [job.id for job in self.jobs]

    async def _take(self, stream: AsyncIterator[list[ClaimedJob]]) -> None:
        async with aclosing(stream):  # type: ignore[type-var]
            async for batch in stream:
                self.batches.append(batch)
                await self.may_take.wait()

    async def cancel(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(PATIENCE):
        while not (seen := condition()):
            await asyncio.sleep(0.005)
    return seen


def run(dsn: str, story: Callable[[AsyncClient, Callable[..., Consumer]], Awaitable[None]]) -> None:
    """Runs a story with a client and a way to start streams, which all end with it."""

    async def program() -> None:
        async with AsyncClient(dsn) as streaming:
            consumers: list[Consumer] = []

            def consume(worker_id: str = "w", **options: Any) -> Consumer:
                consumers.append(Consumer(streaming.stream_jobs(worker_id, **options)))
                return consumers[-1]

            async with asyncio.timeout(PATIENCE):
                await story(streaming, consume)
            for consumer in consumers:
                await consumer.cancel()

    asyncio.run(program())


def state_of(client: Client, job_id: int) -> str:
    return str(client.get_job(job_id).state)


def is_active(client: Client, job_id: int) -> bool:
    return state_of(client, job_id) == "active"


def has_sleeper(conn: Conn, count: int = 1) -> bool:
    row = conn.execute("select count(*) from pgbaton.sleeper").fetchone()
    return row is not None and row[0] >= count


# Preconditions


@pytest.mark.parametrize(
    "options", [{"worker_id": ""}, {"max_assigned_jobs": 0}, {"max_assigned_jobs": -1}]
)
def test_precondition_assignee_and_capacity(
    dsn: str, client: Client, options: dict[str, Any]
) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(**options)
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            await consumer.task

    run(dsn, story)


# Postconditions


def test_jobs_sent_are_running_with_assignee_and_time(dsn: str, client: Client) -> None:
    before = datetime.now(UTC)
    ids = client.enqueue_batch("c", range(3))

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume("assignee")
        await until(lambda: len(consumer.ids) == 3)
        assert sorted(consumer.ids) == ids
        for job in map(client.get_job, ids):
            assert (job.state, job.worker_id) == ("active", "assignee")
            assert job.claimed_at is not None
            assert (
                before - timedelta(seconds=5)
                < job.claimed_at
                < datetime.now(UTC) + timedelta(seconds=5)
            )

    run(dsn, story)


def test_jobs_are_filtered_by_all_tags(dsn: str, client: Client) -> None:
    client.enqueue_job("c", tags=["tag1"])
    both = client.enqueue_job("c", tags=["tag1", "tag2"])
    more = client.enqueue_job("c", tags=["tag3", "tag2", "tag1"])

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(tags=["tag2", "tag1"])
        await until(lambda: sorted(consumer.ids) == [both, more])
        later = client.enqueue_job("c", tags=["tag1", "tag2"])
        await until(lambda: later in consumer.ids)
        assert len(consumer.ids) == 3

    run(dsn, story)


def test_empty_tags_accept_all_jobs(dsn: str, client: Client) -> None:
    ids = [client.enqueue_job("c", tags=tags) for tags in ([], ["a"], ["b", "c"])]

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(tags=[])
        await until(lambda: sorted(consumer.ids) == ids)

    run(dsn, story)


def test_jobs_are_selected_oldest_first(dsn: str, client: Client) -> None:
    """A retried job stands where it was retried."""
    first, second, third = client.enqueue_batch("c", range(3))
    [job] = client.claim_job_batch("x", batch_size=1)
    client.fail_job(first, "again", job.lease_token, retry_in=timedelta(0))

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(max_assigned_jobs=1)
        for count, job_id in enumerate([second, third, first], 1):
            await until(lambda count=count: len(consumer.ids) == count)
            assert consumer.ids[-1] == job_id
            await streaming.complete_job(job_id)

    run(dsn, story)


def test_assigned_jobs_never_exceed_the_capacity(dsn: str, client: Client, conn: Conn) -> None:
    client.enqueue_batch("c", range(40))
    seen: list[int] = []

    def count() -> int:
        row = conn.execute(
            "select coalesce(sum(hi - lo + 1), 0) from pgbaton.span where state = 'active'"
        ).fetchone()
        seen.append(int(row[0]) if row else 0)
        return seen[-1]

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(max_assigned_jobs=4)
        await until(lambda: len(consumer.ids) == 4 and count() == 4)
        for done in range(40):
            await until(lambda done=done: len(consumer.ids) > done)
            await streaming.complete_job(consumer.ids[done])
            count()
        await until(lambda: client.queue_stats("c")[0].completed == 40)

    run(dsn, story)
    assert max(seen) == 4


def test_as_many_jobs_as_possible_are_pushed_in_one_batch(dsn: str, client: Client) -> None:
    client.enqueue_batch("c", range(30))

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(max_assigned_jobs=20)
        await until(lambda: consumer.batches)
        assert [len(batch) for batch in consumer.batches] == [20]

    run(dsn, story)


# Observable effects


def test_jobs_pending_at_the_start_are_found(dsn: str, client: Client) -> None:
    """Also those that were running when the service stopped and were reset."""
    ids = client.enqueue_batch("c", range(5))
    client.claim_job_batch("gone", batch_size=2)
    assert client.reset_running_jobs() == 2

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume()
        await until(lambda: sorted(consumer.ids) == ids)

    run(dsn, story)


def test_it_blocks_until_jobs_are_enqueued(dsn: str, client: Client, conn: Conn) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume()
        for count in (1, 2, 3):
            await until(lambda: has_sleeper(conn))
            assert not consumer.task.done()
            client.enqueue_job("c")
            await until(lambda count=count: len(consumer.ids) == count)

    run(dsn, story)


def test_it_wakes_up_when_a_job_becomes_eligible_again(
    dsn: str, client: Client, conn: Conn
) -> None:
    job_id = client.enqueue_job("c")
    [elsewhere] = client.claim_job_batch("elsewhere")

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume()
        await until(lambda: has_sleeper(conn))
        client.fail_job(job_id, "again", elsewhere.lease_token)
        await until(lambda: consumer.ids == [job_id])
        assert client.mark_worker_unresponsive("w") == 1  # unknown_retry
        await until(lambda: consumer.ids == [job_id, job_id])

    run(dsn, story)


def test_each_stream_has_its_own_capacity_and_tags(dsn: str, client: Client) -> None:
    """Three of one assignee, one of them full, are three different sleepers."""
    client.enqueue_batch("c", range(4), tags=["a"])

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        a = consume(tags=["a"], max_assigned_jobs=2)
        await until(lambda: len(a.ids) == 2)
        b = consume(tags=["b"], max_assigned_jobs=3)
        c = consume(tags=["c"], max_assigned_jobs=3)
        for count in (1, 2):
            client.enqueue_job("c", tags=["b"])
            client.enqueue_job("c", tags=["c"])
            await until(lambda count=count: len(b.ids) == len(c.ids) == count)
        assert len(a.ids) == 2
        assert {job.tags[0] for job in b.jobs} == {"b"}
        assert {job.tags[0] for job in c.jobs} == {"c"}

    run(dsn, story)


def test_a_job_is_assigned_to_one_stream_only(dsn: str, client: Client) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumers = [consume(f"w{n % 3}", max_assigned_jobs=100) for n in range(6)]
        ids = []
        for _ in range(10):
            ids += client.enqueue_batch("c", range(10))
            await asyncio.sleep(0)
        await until(lambda: sum(len(c.ids) for c in consumers) == 100)
        assert sorted(i for c in consumers for i in c.ids) == sorted(ids)

    run(dsn, story)


async def complete(client: AsyncClient, job: ClaimedJob) -> None:
    await client.complete_job(job.id)


async def complete_several(client: AsyncClient, job: ClaimedJob) -> None:
    await client.complete_jobs([job.id], job.lease_token)


async def complete_all(client: AsyncClient, job: ClaimedJob) -> None:
    assert await client.complete_claim(job.lease_token) == 1


async def fail(client: AsyncClient, job: ClaimedJob) -> None:
    await client.fail_job(job.id, "no", retryable=False)


async def fail_several(client: AsyncClient, job: ClaimedJob) -> None:
    await client.fail_jobs([job.id], ["no"], retryable=False)


async def release(client: AsyncClient, job: ClaimedJob) -> None:
    await client.release_jobs([job.id], job.lease_token, timedelta(hours=1))


async def stop(client: AsyncClient, job: ClaimedJob) -> None:
    await client.stop_job(job.id, "enough")


async def stop_with_retry(client: AsyncClient, job: ClaimedJob) -> None:
    await client.cancel_jobs(job_ids=[job.id])
    await client.stop_job_with_retry(job.id, "no")


async def mark_unknown(client: AsyncClient, job: ClaimedJob) -> None:
    await client.mark_job_unknown_stopped(job.id, "who knows")


async def acknowledge(client: AsyncClient, job: ClaimedJob) -> None:
    await client.cancel_jobs(job_ids=[job.id])
    await client.acknowledge_cancellation(job.id, True)


async def drop(client: AsyncClient, job: ClaimedJob) -> None:
    await client.drop_queue("other", force=True)


ENDS = [
    complete,
    complete_several,
    complete_all,
    fail,
    fail_several,
    release,
    stop,
    stop_with_retry,
    mark_unknown,
    acknowledge,
    drop,
]


@pytest.mark.parametrize("by_another", [False, True], ids=["own call", "another client"])
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_capacity_rises_however_a_job_ends(
    dsn: str,
    client: Client,
    end: Callable[[AsyncClient, ClaimedJob], Awaitable[None]],
    by_another: bool,
) -> None:
    client.create_queue("other")
    first = client.enqueue_job("other", priority=150)
    second = client.enqueue_job("c")

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(max_assigned_jobs=1)
        await until(lambda: consumer.ids == [first])
        if by_another:
            async with AsyncClient(dsn) as another:
                await end(another, consumer.jobs[0])
        else:
            await end(streaming, consumer.jobs[0])
        await until(lambda: consumer.ids == [first, second])

    run(dsn, story)


TAKEN_BACK: dict[str, tuple[Any, ...]] = {
    "mark_worker_unresponsive": ("w",),
    "recover_stale_jobs": (timedelta(0),),
    "reset_fifo_key": ("orders", "a", "a test"),
    "reset_running_jobs": (),
}


@pytest.mark.parametrize("call", TAKEN_BACK)
def test_jobs_that_the_client_takes_back_are_seen_at_once(
    dsn: str, client: Client, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Also by a stream that is full, and would look an hour later."""
    monkeypatch.setattr("pgbaton._async.streams.CHECK", 3600)
    client.create_fifo_queue("orders", retry_delay=timedelta(0))
    job_id = client.enqueue_job("orders", singleton_key="a")

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(max_assigned_jobs=1)
        await until(lambda: consumer.ids == [job_id])
        await getattr(streaming, call)(*TAKEN_BACK[call])
        await until(lambda: consumer.ids == [job_id, job_id])

    run(dsn, story)


ENDS_NO_RUNNING_JOB = {
    "act_on_jobs",
    "blocked_jobs",
    "blocked_keys",
    "find_blocked_keys",
    "list_blocked_keys",
    "list_queue_limits",
    "set_queue_limits",
    "cancel_jobs",
    "change_priority",
    "claim_job_batch",
    "claimed_jobs",
    "cleanup_expired_jobs",
    "create_fifo_queue",
    "create_queue",
    "create_schedule",
    "delete_dead_job",
    "delete_job",
    "delete_jobs",
    "drop_schedule",
    "extend_leases",
    "get_blocked_keys",
    "get_dead_job",
    "grant_queue",
    "kv_delete",
    "list_audit",
    "list_dead_jobs",
    "list_paused_keys",
    "list_queues",
    "list_schedules",
    "parent_outcomes",
    "pause_key",
    "pause_queue",
    "pause_schedule",
    "purge_dead_jobs",
    "report_progress",
    "requeue_dead_job",
    "reschedule_job",
    "resume_key",
    "resume_queue",
    "retry_job",
    "retry_jobs",
    "revoke_queue",
    "run_schedule",
    "set_fifo_mode",
    "skip_job",
    "start_jobs",
    "stop_waiting",
    "unregister_worker",
    "update_queue",
    "wait_for_jobs",
    "why_not_running",
    "worker_heartbeat",
}


def test_streams_know_every_call_that_ends_jobs() -> None:
    """A new call must be put where it belongs."""
    groups = (OperatorCalls, QueueCalls, WorkerCalls)
    calls = {name for group in groups for name in vars(group) if not name.startswith("_")}
    assert calls == ENDS_JOBS | ENDS_OTHERS | ENDS_NO_RUNNING_JOB


def test_capacity_falls_at_assignment_not_at_delivery(dsn: str, client: Client) -> None:
    """Jobs of a slow consumer run already, and nobody else gets them."""
    client.enqueue_batch("c", range(2))

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        slow = consume(max_assigned_jobs=3)
        slow.may_take.clear()
        await until(lambda: len(slow.ids) == 2)
        undelivered, left = client.enqueue_batch("c", range(2))
        await until(lambda: state_of(client, undelivered) == "active")
        assert len(slow.ids) == 2
        assert state_of(client, left) == "pending"
        assert [job.id for job in client.claim_job_batch("thief", batch_size=9)] == [left]
        slow.may_take.set()
        await until(lambda: slow.ids[2:] == [undelivered])

    run(dsn, story)


def test_leases_are_extended_while_the_stream_lives(dsn: str, client: Client) -> None:
    job_id = client.enqueue_job("c")

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume(lease=timedelta(seconds=1), max_assigned_jobs=5)
        await until(lambda: consumer.ids)
        later = consumer.jobs[0].lease_until + timedelta(seconds=1)
        await until(lambda: client.get_job(job_id).lease_until > later)
        assert client.claim_job_batch("thief") == []

    run(dsn, story)


# Termination


def undelivered(client: Client, consumer: Consumer) -> Any:
    """One job is delivered, another one assigned."""

    async def prepare() -> list[int]:
        consumer.may_take.clear()
        first = client.enqueue_job("c")
        await until(lambda: consumer.ids == [first])
        second = client.enqueue_job("c")
        await until(lambda: state_of(client, second) == "active")
        return [first, second]

    return prepare()


def check_cleanup(client: Client, first: int, second: int) -> None:
    assert state_of(client, first) == "active"
    job = client.get_job(second)
    assert (job.state, job.attempt, job.worker_id) == ("retry", 0, "w")
    assert (job.error_message or "").startswith("context canceled")
    assert [job.id for job in client.claim_job_batch("next")] == [second]


def test_cancelling_the_task_ends_the_stream_and_gives_back_what_was_not_delivered(
    dsn: str, client: Client
) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume()
        ids = await undelivered(client, consumer)
        consumer.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer.task
        check_cleanup(client, *ids)

    run(dsn, story)


def test_what_was_cancelled_and_not_delivered_is_stopped(dsn: str, client: Client) -> None:
    """It cannot go back, and would keep its key until its lease ends."""

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume()
        first, second = await undelivered(client, consumer)
        third = client.enqueue_job("c")
        await until(lambda: state_of(client, third) == "active")
        assert client.cancel_jobs(job_ids=[second]).cancelled_job_ids == [second]
        await consumer.cancel()
        states = [state_of(client, job_id) for job_id in (first, second, third)]
        assert states == ["active", "stopped", "retry"]

    run(dsn, story)


def test_closing_the_client_ends_all_streams_without_an_error(dsn: str, client: Client) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        full, idle = consume(tags=[]), consume("idle", tags=["never"])
        ids = await undelivered(client, full)
        await streaming.close()
        full.may_take.set()
        assert await full.task is None
        assert await idle.task is None
        check_cleanup(client, *ids)

    run(dsn, story)


def test_leaving_the_loop_ends_the_stream(dsn: str, client: Client) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        first = client.enqueue_job("c")
        async with aclosing(streaming.stream_jobs("w")) as stream:  # type: ignore[type-var]
            async for batch in stream:
                assert [job.id for job in batch] == [first]
                second = client.enqueue_job("c")
                await until(partial(is_active, client, second))
                break
        check_cleanup(client, first, second)
        assert streaming._streams == set()

    run(dsn, story)


def test_an_error_ends_the_stream(dsn: str, client: Client) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        with pytest.raises(UnknownQueue):
            await consume(queues=["nope"]).task
        healthy = consume()
        client.enqueue_job("c")
        await until(lambda: healthy.ids)

    run(dsn, story)


def test_a_lost_connection_ends_the_stream_and_the_client_goes_on(
    dsn: str, client: Client, conn: Conn
) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumer = consume()
        await until(lambda: has_sleeper(conn))
        conn.execute(
            "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
            " where datname = current_database() and application_name like 'pgbaton%'"
        )
        with pytest.raises(psycopg.OperationalError):
            await consumer.task
        again = consume("again")
        with Client(dsn) as producer:
            job_id = producer.enqueue_job("c")
        await until(lambda: again.ids == [job_id])

    run(dsn, story)


def test_a_claim_under_way_is_not_lost_when_the_stream_ends(
    dsn: str, client: Client, conn: Conn
) -> None:
    """The claim waits for a lock while the stream is ended, and then brings a job."""
    job_id = client.enqueue_job("c")

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        with psycopg.connect(dsn) as locking:
            locking.execute("lock table pgbaton.lane in access exclusive mode")
            consumer = consume()
            await until(lambda: call_waits(conn, "claim_job_batch"))
            consumer.task.cancel()
            await until(lambda: all(s._has_ended for s in streaming._streams))
            locking.rollback()
            await asyncio.gather(consumer.task, return_exceptions=True)
        assert consumer.ids == []
        job = client.get_job(job_id)
        assert (job.state, job.attempt) == ("retry", 0)
        assert (job.error_message or "").startswith("context canceled")

    run(dsn, story)


def test_a_stream_that_is_cancelled_twice_is_not_kept(dsn: str, client: Client, conn: Conn) -> None:
    client.enqueue_job("c")

    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        with psycopg.connect(dsn) as locking:
            locking.execute("lock table pgbaton.lane in access exclusive mode")
            consumer = consume()
            await until(lambda: call_waits(conn, "claim_job_batch"))
            consumer.task.cancel()
            await until(lambda: all(s._has_ended for s in streaming._streams))
            await consumer.cancel()
            assert len(streaming._streams) == 1  # the claim is still under way
            locking.rollback()
        await until(lambda: not streaming._streams)

    run(dsn, story)


def test_a_stream_that_opens_while_the_client_closes_is_ended(
    dsn: str, client: Client, conn: Conn
) -> None:
    """Another one has a claim under way, for which closing waits."""
    client.create_queue("other")
    client.enqueue_job("c")

    async def program() -> None:
        streaming = AsyncClient(pool=SlowAnswers(dsn))
        with psycopg.connect(dsn) as locking:
            # A claim that gets a job waits, and who goes to sleep.
            locking.execute(
                "lock table pgbaton.leased_span, pgbaton.sleeper in share row exclusive mode"
            )
            first = Consumer(streaming.stream_jobs("w"))
            await until(lambda: call_waits(conn, "claim_job_batch"))
            closing = asyncio.create_task(streaming.close())
            await until(lambda: all(s._has_ended for s in streaming._streams))
            second = Consumer(streaming.stream_jobs("w", queues=["other"], listen_dsn=dsn))
            await until(lambda: call_waits(conn, "wait_for_jobs"))
            locking.rollback()
        await closing
        await asyncio.gather(first.task, second.task)
        assert (first.batches, second.batches) == ([], [])

    asyncio.run(program())
    assert client.live_stats("c")[0].processing == 0


def call_waits(conn: Conn, function: str) -> bool:
    found = conn.execute(
        "select 1 from pg_stat_activity where datname = current_database()"
        " and wait_event_type = 'Lock' and query like %s",
        [f"%{function}%"],
    )
    return found.rowcount > 0


# Ways to a connection


class SlowAnswers:
    """A pool that keeps the answers to the calls of one task back."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.task: asyncio.Task[Any] | None = None
        self.may_answer = asyncio.Event()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with await psycopg.AsyncConnection.connect(self._dsn, autocommit=True) as connection:
            yield connection
            if asyncio.current_task() is self.task:
                await self.may_answer.wait()


def test_a_job_that_comes_again_before_the_answer_to_its_failure_is_assigned(
    dsn: str, client: Client
) -> None:
    """Its lease is extended, and it takes its place."""
    job_id = client.enqueue_job("c")

    async def program() -> None:
        pool = SlowAnswers(dsn)
        async with AsyncClient(pool=pool) as streaming, asyncio.timeout(PATIENCE):
            consumer = Consumer(streaming.stream_jobs("w", max_assigned_jobs=2))
            await until(lambda: consumer.ids == [job_id])
            [first] = consumer.jobs
            pool.task = asyncio.create_task(streaming.fail_job(job_id, "no", first.lease_token))
            await until(lambda: consumer.ids == [job_id, job_id])
            pool.may_answer.set()
            await pool.task
            [stream] = streaming._streams
            assert stream._assigned == {job_id: consumer.jobs[1]}
            await streaming.complete_job(job_id, lease_token=consumer.jobs[1].lease_token)
            assert stream._assigned == {}
            await consumer.cancel()

    asyncio.run(program())


def test_a_client_with_a_connection_polls(dsn: str, client: Client, conn: Conn) -> None:
    async def program() -> None:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as own:
            streaming = AsyncClient(connection=own)
            consumer = Consumer(streaming.stream_jobs("w"))
            job_id = client.enqueue_job("c")
            await until(lambda: consumer.ids == [job_id])
            later = client.enqueue_job("c")
            await until(lambda: consumer.ids == [job_id, later])
            assert not has_sleeper(conn)
            await streaming.close()
            await consumer.task

    asyncio.run(program())


@asynccontextmanager
async def listening(conn: Conn) -> AsyncIterator[int]:
    row = conn.execute(
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and application_name = 'pgbaton listener'"
    ).fetchone()
    yield int(row[0]) if row else 0


def test_many_streams_share_one_listening_connection(dsn: str, client: Client, conn: Conn) -> None:
    async def story(streaming: AsyncClient, consume: Callable[..., Consumer]) -> None:
        consumers = [consume(f"w{n}", tags=[f"tag {n}"]) for n in range(20)]
        await until(lambda: has_sleeper(conn, 20))
        for n in range(20):
            client.enqueue_job("c", tags=[f"tag {n}"])
        await until(lambda: all(len(c.ids) == 1 for c in consumers))
        async with listening(conn) as connections:
            assert connections == 1

    run(dsn, story)
