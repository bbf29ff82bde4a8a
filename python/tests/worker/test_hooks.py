"""Hooks around and beside handlers, the lifespan of a worker, and rules about exceptions."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import Any

import process_handlers
import pytest
from workers import Running, running, wait_for_state, wait_until

import pgbaton
from pgbaton import Client, Fail, Failure, Retry, RunningJob, Snooze, Worker, current_job

HOUR = timedelta(hours=1)
KINDS = ["async", "thread", "process"]
context = contextvars.ContextVar("context", default="nothing")


@pytest.fixture
def worker(dsn: str, client: Client) -> Worker:
    return Worker(dsn, shutdown_timeout=timedelta(0))


def handle(worker: Worker, kind: str, function: Callable[[RunningJob], Any]) -> None:
    """As a handler of that kind; one in a process does what the payload says."""
    if kind == "process":
        worker.handler("mail", process=True)(process_handlers.work)
    elif kind == "thread":
        worker.handler("mail")(function)
    else:

        @worker.handler("mail")
        async def handle(job: RunningJob) -> Any:
            return function(job)


def work(job: RunningJob) -> Any:
    if job.payload == "raise":
        raise ValueError("no such thing")
    return "done"


def run(client: Client, worker: Worker, payload: Any, *states: str, **options: Any) -> int:
    job_id = client.enqueue_job("mail", payload, max_attempts=1, **options)
    with running(worker):
        wait_for_state(client, job_id, *states)
    return job_id


class Log:
    """Hooks that note when they are entered and left, and with what."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def plain(self, job: RunningJob) -> Iterator[None]:
        assert current_job() is job
        self.said.append(f"plain for {job.id}")
        try:
            yield
        except BaseException as error:
            self.said.append(repr(error))
            raise
        finally:
            self.said.append("plain ends")

    async def awaited(self, job: RunningJob) -> AsyncIterator[None]:
        self.said.append("awaited")
        await asyncio.sleep(0)
        try:
            yield
        except BaseException as error:
            self.said.append(type(error).__name__)
            raise
        finally:
            self.said.append("awaited ends")


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_are_entered_around_each_attempt(client: Client, worker: Worker, kind: str) -> None:
    log = Log()
    worker.around(log.plain)
    worker.around(log.awaited)
    handle(worker, kind, work)
    job_id = run(client, worker, "pid", "completed")
    assert log.said == [f"plain for {job_id}", "awaited", "awaited ends", "plain ends"]


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_see_what_the_handler_raises(client: Client, worker: Worker, kind: str) -> None:
    log = Log()
    worker.around(log.plain)
    worker.around(log.awaited)
    handle(worker, kind, work)
    job_id = run(client, worker, "raise", "failed")
    assert log.said[1:3] == ["awaited", "ValueError"]
    assert log.said[3] == "awaited ends"
    assert log.said[4].startswith("ValueError(")
    assert (client.get_job(job_id).error_message or "").startswith("ValueError: ")


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_that_fails_fails_the_attempt(client: Client, worker: Worker, kind: str) -> None:
    def broken(job: RunningJob) -> Iterator[None]:
        raise KeyError("no context")
        yield

    worker.around(broken)
    handle(worker, kind, work)
    job_id = run(client, worker, "pid", "failed")
    assert "no context" in (client.get_job(job_id).error_message or "")


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("way", ["plain", "awaited"])
@pytest.mark.parametrize("kind", ["async", "thread"])
def test_whatever_a_hook_raises_ends_the_attempt_only(
    client: Client, worker: Worker, kind: str, way: str, when: str, error: type[BaseException]
) -> None:
    def fail(now: str) -> None:
        if now == when:
            raise error

    def plain(job: RunningJob) -> Iterator[None]:
        fail("before")
        yield
        fail("after")

    async def awaited(job: RunningJob) -> AsyncIterator[None]:
        fail("before")
        yield
        fail("after")

    worker.around(plain if way == "plain" else awaited)
    handle(worker, kind, work)
    job_id = run(client, worker, "a", "failed")
    assert error.__name__ in (client.get_job(job_id).error_message or "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_hook_may_take_an_exception_for_its_own(
    client: Client, worker: Worker, kind: str
) -> None:
    @worker.around
    @contextmanager
    def forgiving(job: RunningJob) -> Iterator[None]:
        with suppress(ValueError):
            yield

    handle(worker, kind, work)
    job_id = run(client, worker, "raise", "completed")
    assert client.get_job(job_id).result is None


@pytest.mark.parametrize("kind", ["async", "thread"])
def test_control_flow_passes_hooks(client: Client, worker: Worker, kind: str) -> None:
    log = Log()

    def later(job: RunningJob) -> None:
        raise Snooze(HOUR)

    worker.around(log.plain)
    handle(worker, kind, later)
    job_id = run(client, worker, None, "retry")
    assert client.get_job(job_id).attempt == 0
    assert log.said[1].startswith("Snooze(")


@pytest.mark.parametrize("kind", ["async", "thread"])
def test_what_a_job_sets_in_its_context_ends_with_it(dsn: str, client: Client, kind: str) -> None:
    worker = Worker(dsn, capacity=1)
    seen: list[str] = []

    def bind(job: RunningJob) -> None:
        seen.append(context.get())
        context.set(f"job {job.id}")

    @worker.around
    def within(job: RunningJob) -> Iterator[None]:
        token = context.set("hook")
        yield
        context.reset(token)

    handle(worker, kind, bind)
    ids = client.enqueue_batch("mail", range(3))
    with running(worker):
        wait_for_state(client, ids[-1], "completed", "failed", "retry")
    assert seen == ["hook"] * 3


def test_a_plain_hook_runs_in_the_thread_of_its_handler(client: Client, worker: Worker) -> None:
    threads: list[threading.Thread] = []

    @worker.around
    def note(job: RunningJob) -> Iterator[None]:
        threads.append(threading.current_thread())
        yield
        threads.append(threading.current_thread())

    worker.handler("mail")(lambda job: threads.append(threading.current_thread()))
    run(client, worker, None, "completed")
    assert len(set(threads)) == 1
    assert threads[0] is not threading.main_thread()


class Observed:
    """Hooks that are told of failures."""

    def __init__(self, worker: Worker) -> None:
        self.errors: list[Failure] = []
        self.last: list[Failure] = []
        worker.on_error(self.errors.append)
        worker.on_failed_for_good(self.note)

    async def note(self, failure: Failure) -> None:
        self.last.append(failure)


@pytest.mark.parametrize("kind", KINDS)
def test_observers_are_told_of_each_failure(client: Client, worker: Worker, kind: str) -> None:
    observed = Observed(worker)
    handle(worker, kind, work)
    job_id = client.enqueue_job("mail", "raise", max_attempts=2)
    with running(worker):
        wait_for_state(client, job_id, "failed")
    assert [(f.job.id, f.job.attempt, f.is_final) for f in observed.errors] == [
        (job_id, 1, False),
        (job_id, 2, True),
    ]
    assert [f.job.attempt for f in observed.last] == [2]
    assert isinstance(observed.last[0].error, ValueError)
    assert observed.last[0].message == client.get_job(job_id).error_message


def test_observers_hear_of_what_was_not_raised(client: Client, worker: Worker) -> None:
    """A process that was killed raised nothing."""
    observed = Observed(worker)
    worker.handler("mail", process=True)(process_handlers.work)
    run(client, worker, "kill", "failed")
    [killed] = observed.last
    assert killed.error is None
    assert "killed by SIGKILL" in killed.message


def test_control_flow_is_no_failure(client: Client, worker: Worker) -> None:
    observed = Observed(worker)

    @worker.handler("mail")
    def later(job: RunningJob) -> None:
        raise Snooze(HOUR)

    run(client, worker, None, "retry")
    assert observed.errors == []


class Broken:
    """Observers of each kind that raise."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def plain(self, failure: Failure) -> None:
        raise self.error

    async def awaited(self, failure: Failure) -> None:
        raise self.error

    async def __call__(self, failure: Failure) -> None:
        raise self.error


@pytest.mark.parametrize(
    "error", [KeyError, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError]
)
@pytest.mark.parametrize("kind", ["plain", "awaited", "object"])
def test_an_observer_that_fails_harms_nobody(
    client: Client,
    worker: Worker,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    error: type[BaseException],
) -> None:
    broken = Broken(error)
    worker.on_error(broken if kind == "object" else getattr(broken, kind))
    observed = Observed(worker)
    handle(worker, "thread", work)
    run(client, worker, "raise", "failed")
    assert len(observed.errors) == len(observed.last) == 1
    [record] = [r for r in caplog.records if r.__dict__.get("pgbaton_event") == "hook"]
    assert "Broken" in record.getMessage()
    assert record.exc_info


def test_a_slow_observer_is_waited_for_when_the_worker_stops(dsn: str, client: Client) -> None:
    worker = Worker(dsn, shutdown_timeout=timedelta(seconds=30))
    may_end, told = threading.Event(), threading.Event()

    @worker.on_failed_for_good
    def slow(failure: Failure) -> None:
        may_end.wait(30)
        told.set()

    handle(worker, "thread", work)
    job_id = client.enqueue_job("mail", "raise", max_attempts=1)
    with running(worker) as it:
        wait_for_state(client, job_id, "failed")
        it.stop()
        may_end.set()
    assert told.is_set()


@pytest.mark.parametrize("kind", ["async generator", "async", "plain"])
def test_a_lifespan_gives_handlers_its_state(client: Client, worker: Worker, kind: str) -> None:
    said: list[str] = []

    async def pool() -> AsyncIterator[dict[str, int]]:
        said.append("begins")
        yield {"connections": 3}
        said.append("ends")

    @contextmanager
    def plain() -> Iterator[dict[str, int]]:
        said.append("begins")
        yield {"connections": 3}
        said.append("ends")

    makers: dict[str, Any] = {
        "async generator": pool,
        "async": asynccontextmanager(pool),
        "plain": plain,
    }
    worker.lifespan(makers[kind])
    with pytest.raises(ValueError, match="has a lifespan already"):
        worker.lifespan(plain)

    @worker.around
    def seen(job: RunningJob) -> Iterator[None]:
        said.append(f"hook has {job.state}")
        yield

    @worker.handler("mail")
    async def handle(job: RunningJob) -> Any:
        assert current_job() is job
        return job.state

    for _ in range(2):  # a worker may run again
        said.clear()
        job_id = run(client, worker, None, "completed")
        assert client.get_job(job_id).result == {"connections": 3}
        assert said == ["begins", "hook has {'connections': 3}", "ends"]


def test_a_lifespan_outlives_its_handlers(dsn: str, client: Client) -> None:
    worker = Worker(dsn, shutdown_timeout=timedelta(seconds=30))
    began, may_end = threading.Event(), threading.Event()
    said: list[str] = []

    @worker.lifespan
    async def life() -> AsyncIterator[None]:
        yield
        said.append("life ends")

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        began.set()
        may_end.wait(30)
        said.append("handler ends")

    job_id = client.enqueue_job("mail")
    with running(worker) as it:
        assert began.wait(30)
        it.stop()
        may_end.set()
    assert said == ["handler ends", "life ends"]
    assert client.get_job(job_id).state == "completed"


@pytest.mark.parametrize("when", ["begins", "ends"])
def test_a_lifespan_that_fails_ends_the_worker(dsn: str, client: Client, when: str) -> None:
    worker = Worker(dsn)

    @worker.lifespan
    async def life() -> AsyncIterator[None]:
        if when == "begins":
            raise OSError("no pool")
        yield
        raise OSError("no pool")

    worker.handler("mail")(lambda job: None)
    job_id = client.enqueue_job("mail")
    it = Running(worker)
    if when == "ends":
        wait_for_state(client, job_id, "completed")
        it.stop()
    with pytest.raises(OSError, match="no pool"):
        it.join()
    assert client.get_job(job_id).state == ("pending" if when == "begins" else "completed")
    assert client.list_workers() == [] or when == "begins"


def test_a_worker_can_be_stopped_while_its_lifespan_begins(dsn: str, client: Client) -> None:
    worker = Worker(dsn)
    began, said = threading.Event(), []

    @worker.lifespan
    async def life() -> AsyncIterator[None]:
        began.set()
        try:
            await asyncio.sleep(600)
        finally:
            said.append("cleaned up")
        yield

    worker.handler("mail")(lambda job: None)
    with running(worker) as it:
        assert began.wait(30)
        it.stop()
        it.join()
    assert said == ["cleaned up"]


class Declined(Exception):
    pass


class Expired(Declined):
    pass


class Limited(Exception):
    def __init__(self, seconds: int) -> None:
        super().__init__(f"again in {seconds} s")
        self.seconds = seconds


def again(error: Limited) -> Snooze | None:
    return Snooze(timedelta(seconds=error.seconds)) if error.seconds else None


def broken_rule(error: KeyError) -> Fail:
    raise RuntimeError("the rule itself")


RULES: Any = {
    Declined: Fail(),
    ConnectionError: Retry(after=HOUR),
    Limited: again,
    KeyError: broken_rule,
}
RULED: dict[str, tuple[Exception, str, int, bool]] = {
    "a class": (Declined("no funds"), "failed", 1, False),
    "a subclass": (Expired("last year"), "failed", 1, False),
    "retry": (ConnectionResetError("gone"), "retry", 1, True),
    "a function": (Limited(3600), "retry", 0, True),
    "a function that has no answer": (Limited(0), "failed", 2, False),
    "a rule that fails": (KeyError("x"), "failed", 2, False),
    "no rule": (ValueError("x"), "failed", 2, False),
    "what the handler says itself": (Fail("mine"), "failed", 1, False),
}


@pytest.mark.parametrize("what", RULED)
@pytest.mark.parametrize("kind", ["async", "thread"])
def test_rules(client: Client, worker: Worker, what: str, kind: str) -> None:
    error, state, attempts, is_later = RULED[what]

    def work(job: RunningJob) -> None:
        raise error

    async def work_async(job: RunningJob) -> None:
        raise error

    worker.handler("mail", rules=RULES)(work if kind == "thread" else work_async)
    job_id = client.enqueue_job("mail", max_attempts=2)
    with running(worker):
        wait_until(
            lambda: (
                client.get_job(job_id).state == state
                and (is_later or client.get_job(job_id).attempt == attempts)
            )
        )
    info = client.get_job(job_id)
    assert info.attempt == attempts
    assert info.error_message is None or str(error) in info.error_message
    if what == "retry":
        assert info.run_at is not None
        assert info.run_at - info.created_at > timedelta(minutes=50)


def test_a_final_failure_is_an_error_in_the_log(
    client: Client, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    handle(worker, "thread", work)
    job_id = client.enqueue_job("mail", "raise", max_attempts=3)
    with running(worker):
        wait_for_state(client, job_id, "failed")
    records = [r for r in caplog.records if r.__dict__.get("pgbaton_event") == "failed"]
    assert [r.levelno for r in records] == [logging.WARNING, logging.WARNING, logging.ERROR]
    said = [r.getMessage() for r in records]
    assert said[1].startswith(f"job {job_id} of queue mail failed, attempt 2 of 3: ValueError: ")
    assert said[2].startswith(f"job {job_id} of queue mail failed for good, attempt 3 of 3: Value")
    for record in records:
        assert record.exc_info
        assert isinstance(record.exc_info[1], ValueError)
        assert not {"event", "msg_", "name_"} & record.__dict__.keys()


def test_a_wished_retry_has_no_traceback_until_the_last(
    client: Client, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    @worker.handler("mail")
    def busy(job: RunningJob) -> None:
        raise pgbaton.Retry("busy", after=timedelta(0))

    job_id = client.enqueue_job("mail", max_attempts=2)
    with running(worker):
        wait_for_state(client, job_id, "failed")
    first, last = [r for r in caplog.records if r.__dict__.get("pgbaton_event") == "failed"]
    assert (first.levelno, first.exc_info) == (logging.WARNING, None)
    assert last.levelno == logging.ERROR
    assert last.exc_info
