"""Handlers: which one gets a job, and what comes of how it ends."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import process_handlers
import psycopg
import pytest
from workers import running, wait_for_state, wait_until

import pgbaton
from pgbaton import Client, JobInfo, RunningJob, Worker
from pgbaton._runtime.outcomes import Outcome, message_of
from pgbaton._runtime.processes import Child
from pgbaton._runtime.running import Run

HOUR = timedelta(hours=1)


@pytest.fixture
def worker(dsn: str, client: Client) -> Worker:
    return Worker(dsn, shutdown_timeout=timedelta(0))


def test_handlers_by_queue_and_job_type(client: Client, worker: Worker) -> None:
    seen: list[tuple[str, Any]] = []

    @worker.handler("mail", "letter")
    async def letter(job: RunningJob) -> None:
        seen.append(("letter", job.payload))

    @worker.handler("mail")
    def other(job: RunningJob) -> None:
        seen.append(("other", job.payload))

    @worker.handler("orders")
    async def order(job: RunningJob) -> str:
        seen.append((f"order {job.singleton_key}", job.payload))
        return "done"

    client.enqueue_job("mail", 1, job_type="letter")
    client.enqueue_job("mail", 2, job_type="bill")
    client.enqueue_job("mail", 3)
    last = client.enqueue_job("orders", 4, singleton_key="a")
    with running(worker):
        wait_for_state(client, last, "completed")
        wait_until(lambda: client.queue_stats("mail")[0].completed == 3)
    assert sorted(seen) == [("letter", 1), ("order a", 4), ("other", 2), ("other", 3)]
    assert client.get_job(last).result == "done"


def test_any_callable_is_a_handler(client: Client, worker: Worker) -> None:
    class Called:
        def __call__(self, job: RunningJob) -> str:
            return "called"

    class Awaited:
        async def __call__(self, job: RunningJob) -> str:
            return "awaited"

        async def method(self, job: RunningJob) -> str:
            return "method"

    worker.handler("mail", "called")(Called())
    worker.handler("mail", "awaited")(Awaited())
    worker.handler("mail", "method")(Awaited().method)
    worker.handler("mail", "partial")(partial(Called().__call__))
    for job_type in ("called", "awaited", "method", "partial"):
        job_id = client.enqueue_job("mail", job_type=job_type)
        with running(worker):
            wait_for_state(client, job_id, "completed")
        assert client.get_job(job_id).result == job_type.replace("partial", "called")


def test_only_the_job_types_of_handlers_are_claimed(client: Client, worker: Worker) -> None:
    worker.handler("mail", "letter")(lambda job: None)
    bill = client.enqueue_job("mail", job_type="bill")
    letter = client.enqueue_job("mail", job_type="letter")
    with running(worker):
        wait_for_state(client, letter, "completed")
    assert client.get_job(bill).worker_id is None


def test_only_jobs_with_all_tags_are_claimed(dsn: str, client: Client) -> None:
    worker = Worker(dsn, tags=["a", "b"])
    worker.handler("mail")(lambda job: None)
    one = client.enqueue_job("mail", tags=["a"])
    both = client.enqueue_job("mail", tags=["a", "b", "c"])
    with running(worker):
        wait_for_state(client, both, "completed")
    assert client.get_job(one).worker_id is None


def ended(
    client: Client, worker: Worker, function: Callable[[RunningJob], Any], is_async: bool = False
) -> JobInfo:
    """What becomes of a job after the first run of its handler."""
    ran = threading.Event()

    def once(job: RunningJob) -> Any:
        if job.attempt > 1:
            raise pgbaton.Snooze(HOUR)
        ran.set()
        return function(job)

    async def once_async(job: RunningJob) -> Any:
        return once(job)

    worker.handler("mail")(once_async if is_async else once)
    job_id = client.enqueue_job("mail")
    with running(worker):
        wait_until(ran.is_set)
        wait_until(lambda: client.get_job(job_id).state != "active")
    return client.get_job(job_id)


def raises(error: BaseException) -> Callable[[RunningJob], Any]:
    def handler(job: RunningJob) -> None:
        raise error

    return handler


def test_retry_fails_the_attempt_and_says_when_to_run_again(client: Client, worker: Worker) -> None:
    job = ended(client, worker, raises(pgbaton.Retry("the shop is closed", after=HOUR)))
    assert (job.state, job.attempt, job.error_message) == ("retry", 1, "the shop is closed")
    assert job.run_at is not None
    assert job.claimed_at is not None
    assert job.run_at - job.claimed_at > timedelta(minutes=59)


def test_fail_is_for_good(client: Client, worker: Worker) -> None:
    job = ended(client, worker, raises(pgbaton.Fail("no such address")))
    assert (job.state, job.attempt, job.error_message) == ("failed", 1, "no such address")


def test_fail_that_is_not_permanent_is_a_failed_attempt(client: Client, worker: Worker) -> None:
    job = ended(client, worker, raises(pgbaton.Fail("not now", permanent=False)))
    assert (job.state, job.error_message, job.retry_count) == ("retry", "not now", 1)


def test_snooze_costs_no_attempt(client: Client, worker: Worker) -> None:
    job = ended(client, worker, raises(pgbaton.Snooze(HOUR)))
    assert (job.state, job.attempt, job.retry_count) == ("retry", 0, 0)
    assert job.run_at is not None
    assert job.claimed_at is not None
    assert job.run_at - job.claimed_at > timedelta(minutes=59)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (pgbaton.Snooze(timedelta(-1)), "its delay could not be stored: "),
        (pgbaton.Snooze("a while"), "its delay could not be stored: "),
        (pgbaton.Retry("closed", after="a while"), "closed (its delay could not be stored: "),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_delay_that_is_none_fails_the_attempt_and_ends_no_worker(
    client: Client, worker: Worker, error: Exception, says: str, is_async: bool
) -> None:
    job = ended(client, worker, raises(error), is_async)
    assert job.retry_count == 1
    assert (job.error_message or "").startswith(says)


def test_a_number_is_no_delay() -> None:
    for wrong in (lambda: pgbaton.Snooze(5), lambda: pgbaton.Retry(after=5)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="5 is not a duration"):
            wrong()


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"progress": 101}, "ValueError: progress is 101"),
        ({"progress": 33.3}, "TypeError: "),
        ({"current_stage": "a\0b"}, "ValueError: "),
        ({"current_stage": 2}, "TypeError: "),
        ({"events_count": -1}, "ValueError: events_count is -1"),
        ({"events_count": 1 << 31}, "ValueError: events_count is 2147483648"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_progress_that_is_none_fails_the_attempt_and_ends_no_worker(
    client: Client, worker: Worker, said: dict[str, Any], says: str, is_async: bool
) -> None:
    job = ended(client, worker, lambda job: job.report_progress(**said), is_async)
    assert job.retry_count == 1
    assert (job.error_message or "").startswith(says)


REFUSES_PROGRESS = """
    create or replace function pgbaton.report_progress(
        job_id bigint, lease_token bigint, progress integer default null,
        current_stage text default null, events_count integer default null
    )
    returns text language plpgsql as $$
    begin
        raise exception 'no such character' using errcode = 'untranslatable_character';
    end $$;
"""


def test_progress_that_the_database_refuses_ends_no_worker(
    own_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As one does whose encoding lacks a character."""
    with psycopg.connect(own_dsn) as admin:
        admin.execute(REFUSES_PROGRESS)
    worker = Worker(own_dsn)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        job.report_progress(current_stage="☃")
        wait_until(lambda: "the progress of job" in caplog.text)

    with Client(own_dsn) as client:
        client.create_queue("mail")
        job_id = client.enqueue_job("mail")
        with running(worker):
            wait_for_state(client, job_id, "completed")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("code", [0, 1, "bye"])
def test_a_handler_that_exits_fails_its_job_only(
    client: Client, worker: Worker, is_async: bool, code: Any
) -> None:
    job = ended(client, worker, lambda job: sys.exit(code), is_async)
    assert job.retry_count == 1
    assert (job.error_message or "").startswith(f"SystemExit: {code}")


def test_a_message_says_what_and_where(client: Client, worker: Worker) -> None:
    message = ended(client, worker, raises(ValueError("no funds"))).error_message or ""
    assert message.startswith("ValueError: no funds (")
    assert "test_handlers.py:" in message
    assert message.endswith(" in handler)")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("speechless")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("a\0b"), "ValueError: a\\0b"),
        (ValueError("\ud800"), "ValueError: \\ud800"),
        (ValueError("x" * 10_000_000), f"{'x' * 7000}"),
        (ValueError(), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (Unspeakable(), "Unspeakable: its message cannot be read: RuntimeError('speechless')"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "CancelledError"),
        (pgbaton.Cancelled(), "nobody had asked it to stop"),
        (pgbaton.Fail("", permanent=False), "no message"),
        (pgbaton.Retry("a\0b"), "a\\0b"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.parametrize("is_async", [False, True])
def test_any_error_can_be_stored(
    client: Client, worker: Worker, error: BaseException, says: str, is_async: bool
) -> None:
    job = ended(client, worker, raises(error), is_async)
    assert job.retry_count == 1
    assert says in (job.error_message or "")
    assert len(job.error_message or "") < 9000


def test_the_place_of_an_error_is_told_in_a_package_of_a_similar_name() -> None:
    place = f"{Path(pgbaton.__file__).parent}_shop/mails.py"
    with pytest.raises(ValueError, match="gone") as caught:
        exec(compile("raise ValueError('gone')", place, "exec"))  # noqa: S102
    assert message_of(caught.value) == f"ValueError: gone ({place}:1 in <module>)"


@pytest.mark.parametrize("result", [{1, 2}, float("nan"), "a\0b", object(), {"a": b"b"}])
def test_a_result_that_is_no_json_fails_the_job(
    client: Client, worker: Worker, result: Any
) -> None:
    job = ended(client, worker, lambda job: result)
    assert "what is no JSON value" in (job.error_message or "")


def test_a_worker_makes_do_with_the_threads_that_it_can_have(
    dsn: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container with a limit of processes."""
    threads: set[str] = set()

    class Scarce(threading.Thread):
        def start(self) -> None:
            if int(self.name.removeprefix("pgbaton-")) > 2:
                raise RuntimeError("can't start new thread")
            super().start()

    worker = Worker(dsn, capacity=10)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        threads.add(threading.current_thread().name)
        time.sleep(0.02)

    monkeypatch.setattr("pgbaton._runtime.threads.Thread", Scarce)
    client.enqueue_batch("mail", range(30))
    assert worker.run(burst=True).completed == 30
    assert threads == {"pgbaton-1", "pgbaton-2"}


def test_a_result_at_the_limit_of_recursion_does_not_end_the_worker(
    client: Client, worker: Worker
) -> None:
    """How deep a value may be to be written depends on the calls around it: the handler's count."""

    @worker.handler("mail")
    def nested(job: RunningJob) -> Any:
        result: list[Any] = []
        for _ in range(job.payload):
            result = [result]
        return result

    depths = range(850, 1000, 2)
    ids = [client.enqueue_job("mail", depth, max_attempts=1) for depth in depths]
    assert worker.run(burst=True).failed == len(depths)
    assert {client.get_job(job_id).state for job_id in ids} == {"failed"}


def test_a_result_is_kept_as_it_was_returned(client: Client, worker: Worker) -> None:
    """An outcome may wait for others while the program goes on with what was returned."""
    result: list[object] = [1]

    @worker.handler("mail")
    async def handle(job: RunningJob) -> list[object]:
        asyncio.get_running_loop().call_soon(result.append, object())
        return result

    job_id = client.enqueue_job("mail")
    assert worker.run(burst=True).completed == 1
    assert client.get_job(job_id).result == [1]


REFUSES_POISON = """
    alter function pgbaton._complete rename to _complete_as_ever;
    create function pgbaton._complete(job_ids bigint[], lease_token bigint, results jsonb[])
    returns pgbaton.span[] language plpgsql as $$
    begin
        if '"poison"' = any (results) then
            raise exception 'out of room' using errcode = 'program_limit_exceeded';
        end if;
        return pgbaton._complete_as_ever(job_ids, lease_token, results);
    end $$;
"""


def test_a_result_that_the_database_refuses_fails_its_own_job_only(own_dsn: str) -> None:
    with psycopg.connect(own_dsn) as admin:
        admin.execute(REFUSES_POISON)
    arrived: list[int] = []
    worker = Worker(own_dsn)

    @worker.handler("mail")
    async def handle(job: RunningJob) -> Any:
        arrived.append(job.id)
        while len(arrived) < 3:
            await asyncio.sleep(0)
        return job.payload

    with Client(own_dsn) as client:
        client.create_queue("mail", max_attempts=1)
        ids = client.enqueue_batch("mail", ["a", "poison", "b"])
        with running(worker):
            for job_id in ids:
                wait_for_state(client, job_id, "completed", "failed")
        jobs = [client.get_job(job_id) for job_id in ids]
    assert [job.state for job in jobs] == ["completed", "failed", "completed"]
    assert [job.result for job in jobs] == ["a", None, "b"]
    assert "its result could not be stored: out of room" in (jobs[1].error_message or "")


def test_a_job_of_an_unknown_type_goes_back(
    client: Client, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    worker.handler("mail", "letter")(lambda job: None)
    worker.handler("orders")(lambda job: None)
    ids = [client.enqueue_job("mail", job_type="bill") for _ in range(2)]
    with running(worker), caplog.at_level(logging.ERROR, "pgbaton.worker"):
        for job_id in ids:
            wait_for_state(client, job_id, "retry")
    for job in map(client.get_job, ids):
        assert (job.attempt, job.error_message) == (0, None)
        assert job.run_at is not None
        assert job.run_at > job.created_at + timedelta(seconds=59)
    [record] = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert "has type 'bill', which no handler takes: it goes back for 0:01:00" in record.message
    assert record.__dict__["job_type"] == "bill"


# Processes

# The job after the one that is killed has this time too, in a new process, on a busy machine.
ENOUGH_FOR_A_PROCESS = timedelta(seconds=5)


def in_process(dsn: str, client: Client, what: str, **options: Any) -> JobInfo:
    worker = Worker(dsn, capacity=1)
    worker.handler("mail", process=True, **options)(process_handlers.work)
    job_id = client.enqueue_job("mail", what, max_attempts=1)
    after = client.enqueue_job("mail", "fine", max_attempts=1)
    with running(worker):
        wait_for_state(client, job_id, "completed", "failed")
        wait_for_state(client, after, "completed")
    assert client.get_job(after).result == 1
    return client.get_job(job_id)


def test_a_process_handler_runs_in_another_process(dsn: str, client: Client) -> None:
    assert in_process(dsn, client, "pid").result not in (None, os.getpid())


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("raise", "ValueError: no\\0pe"),
        ("exit", "SystemExit: 3"),
        ("die", "the process of the handler exited with code 7"),
        ("kill", "the process of the handler was killed by SIGKILL"),
        ("set", "what is no JSON value"),
    ],
)
def test_a_process_handler_that_fails(dsn: str, client: Client, what: str, says: str) -> None:
    job = in_process(dsn, client, what)
    assert job.state == "failed"
    assert says in (job.error_message or "")


PROGRAM_THAT_RUNS_WHEN_IMPORTED = """
from pgbaton import Worker

worker = Worker({dsn!r})

@worker.handler("mail", process=True)
def handle(job):
    return 1

worker.run(burst=True)
"""


def test_a_process_that_imports_its_program_does_not_run_the_worker(
    dsn: str, client: Client, tmp_path: Path
) -> None:
    """Else the job waited for ever, and that worker took the other ones, which it cannot run."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM_THAT_RUNS_WHEN_IMPORTED.format(dsn=dsn))
    ids = [client.enqueue_job("mail", max_attempts=1) for _ in range(2)]
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=60
    )
    assert "put that below if __name__ == '__main__'" in done.stderr
    assert [client.get_job(job_id).error_message for job_id in ids] == [
        "the process of the handler exited with code 1"
    ] * 2


def test_an_exception_of_a_class_that_only_its_process_has(dsn: str, client: Client) -> None:
    """The worker cannot read it, and yet knows what it said."""
    assert in_process(dsn, client, "give up").error_message == "no such house"


def test_threads_that_outlive_their_job_do_not_speak_for_the_next_one(
    dsn: str, client: Client
) -> None:
    """Nor do they write into what the process says when the handler has ended."""
    worker = Worker(dsn, capacity=1)
    worker.handler("mail", process=True)(process_handlers.work)
    whats = ["leave a thread"] * 3 + ["listen"]
    ids = [client.enqueue_job("mail", what, max_attempts=1) for what in whats]
    assert worker.run(burst=True).completed == len(ids)
    assert client.get_job(ids[0]).result == "x" * 1_000_000
    assert client.get_job(ids[-1]).current_stage is None


def test_each_job_of_a_process_has_a_context_of_its_own(dsn: str, client: Client) -> None:
    worker = Worker(dsn, capacity=1)
    worker.handler("mail", process=True)(process_handlers.work)
    ids = [client.enqueue_job("mail", "remember") for _ in range(2)]
    worker.run(burst=True)
    assert [client.get_job(job_id).result for job_id in ids] == [None, None]


def test_a_process_handler_that_floods_memory(dsn: str, client: Client) -> None:
    job = in_process(dsn, client, "flood", memory_limit=2 << 30)
    assert job.state == "failed"
    assert "MemoryError" in (job.error_message or "")


def test_a_process_handler_that_never_ends_is_killed_at_its_timeout(
    dsn: str, client: Client
) -> None:
    job = in_process(dsn, client, "hang", timeout=ENOUGH_FOR_A_PROCESS)
    assert job.state == "failed"
    assert job.error_message == "the handler ran longer than 0:00:05"


def test_a_program_that_a_killed_process_left_holds_nobody_up(dsn: str, client: Client) -> None:
    began = time.monotonic()
    job = in_process(dsn, client, "leave a program", timeout=ENOUGH_FOR_A_PROCESS)
    assert job.error_message == "the handler ran longer than 0:00:05"
    assert time.monotonic() - began < 50  # it would go on for 60 seconds


def test_a_process_that_died_while_it_had_nothing_to_do_fails_no_job(
    dsn: str, client: Client
) -> None:
    """As the kernel ends one that has much memory."""
    worker = Worker(dsn, capacity=1)
    worker.handler("mail", process=True)(process_handlers.work)
    with running(worker):
        job_id = client.enqueue_job("mail", "pid", max_attempts=1)
        wait_for_state(client, job_id, "completed")
        [engine] = worker._engines
        assert engine._processes is not None
        [child] = engine._processes._idle
        os.kill(client.get_job(job_id).result, signal.SIGKILL)
        wait_until(lambda: not child.is_alive)
        after = client.enqueue_job("mail", "fine", max_attempts=1)
        assert wait_for_state(client, after, "completed", "failed") == "completed"


def test_a_process_that_was_killed_as_its_handler_ended_gets_no_other_job(
    dsn: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome has come, the timeout too: the process is dying while it looks alive."""
    answer = Child.run

    def run(child: Child, run: Run) -> Outcome:
        outcome = answer(child, run)
        if run.job.payload == "pid":
            run.cancel("timeout")
        return outcome

    monkeypatch.setattr(Child, "run", run)
    monkeypatch.setattr(Child, "is_alive", True)  # for some microseconds
    job = in_process(dsn, client, "pid")
    assert job.state == "completed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_a_process_that_begins_fails_no_job(
    dsn: str, client: Client, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """As systemd sends one to all processes of a service, and a terminal does."""
    begin = Child.__init__

    def begin_and_signal(child: Child) -> None:
        begin(child)
        os.kill(child._process.pid or 0, number)

    monkeypatch.setattr(Child, "__init__", begin_and_signal)
    assert in_process(dsn, client, "pid").state == "completed"


# What a worker refuses


def test_bad_handlers_are_refused(worker: Worker) -> None:
    async def coroutine(job: RunningJob) -> None: ...

    worker.handler("mail")(coroutine)
    with pytest.raises(ValueError, match="has a handler for job type None already"):
        worker.handler("mail")(coroutine)
    with pytest.raises(ValueError, match="memory_limit needs process=True"):
        worker.handler("mail", "x", memory_limit=1)
    with pytest.raises(TypeError, match="is a plain function"):
        worker.handler("mail", "x", process=True)(coroutine)
    with pytest.raises(TypeError, match="is local"):
        worker.handler("mail", "x", process=True)(lambda job: None)
    for yielding in (generator, async_generator):
        with pytest.raises(TypeError, match="yields, so a call of it would do nothing"):
            worker.handler("mail", "x")(yielding)


def generator(job: RunningJob) -> Iterator[int]:
    yield 1


async def async_generator(job: RunningJob) -> AsyncIterator[int]:
    yield 1


def test_bad_workers_are_refused(dsn: str, client: Client) -> None:
    with pytest.raises(ValueError, match="capacity is 0"):
        Worker(dsn, capacity=0)
    with pytest.raises(ValueError, match="needs a handler"):
        Worker(dsn).run()
    nowhere = Worker("host=/nowhere dbname=x")
    nowhere.handler("mail")(lambda job: None)
    with pytest.raises(psycopg.OperationalError):
        nowhere.run()
