"""Rows W01 to W08, waiting for outcomes, and T01 to T06, retries: see docs/guarantees.md.

Over HTTP: gateway/test_http_outcomes.py.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from time import monotonic
from typing import Any

import psycopg
import pytest
from calls import fail, run_all, state
from psycopg.conninfo import make_conninfo
from sessions import SECONDS, Clock, Session, Waiting

from pgbaton import AsyncClient, Client, JobOutcome

Open = Callable[[], Session]
WAIT = "select job_id, state, resolution from pgbaton.wait_for_outcomes(array[%s::bigint], '30 s')"


@pytest.fixture
def q(db: Session) -> Session:
    """The session that arranges and looks, with a queue q of three attempts."""
    db.rows("select pgbaton.create_queue('q', max_attempts => 3)")
    return db


def seen_waiting(db: Session, waiter: Session) -> Waiting:
    """Starts to wait for the last job, and returns when the wait is seen."""
    job = db.one("select max(id) from pgbaton.jobs")
    waiting = waiter.start(WAIT, job)
    give_up = monotonic() + SECONDS
    while monotonic() < give_up:
        if db.rows(
            "select 1 from pg_stat_activity where pid = %s and wait_event = 'PgSleep'", waiter.pid
        ):
            return waiting
    raise AssertionError("it was never seen to wait")


def complete(worker: Session) -> None:
    assert worker.complete(worker.claim("q", 1)) == ["ok"]


# W: waiting for an outcome ---------------------------------------------------------------------


@pytest.mark.parametrize("is_early", [True, False], ids=["ended before", "ends meanwhile"])
def test_w01_a_job_that_ends_before_the_wait(
    q: Session, open_session: Open, is_early: bool
) -> None:
    """Each look is at the state itself: there is nothing to subscribe to, and nothing to miss."""
    job = q.enqueue("q")
    if is_early:
        complete(q)
        assert q.rows(WAIT, job) == [(job, "completed", None)]
        return
    waiting = seen_waiting(q, open_session())
    complete(q)
    assert waiting.rows() == [(job, "completed", None)]


@pytest.mark.parametrize(
    ("removal", "outcome"),
    [
        ("delete_job('q', %s)", ("unscheduled", "deleted")),
        ("delete_jobs(job_ids => array[%s::bigint])", (None, None)),
    ],
)
@pytest.mark.parametrize("is_early", [True, False], ids=["gone before", "goes meanwhile"])
def test_w02_a_job_that_is_removed(
    q: Session, open_session: Open, removal: str, outcome: tuple[Any, ...], is_early: bool
) -> None:
    """Gone is an outcome, too: a state of null."""
    job = q.enqueue("q")
    waiting = None if is_early else seen_waiting(q, open_session())
    with q.conn.transaction():
        if outcome[0] is None:
            q.conn.execute("select pgbaton.cancel_jobs(job_ids => array[%s::bigint])", [job])
        q.conn.execute(f"select pgbaton.{removal}".encode(), [job])
    found = q.rows(WAIT, job) if waiting is None else waiting.rows()
    assert found == [(job, *outcome)]


def test_w02_a_result_is_kept_as_long_as_the_queue_says(q: Session, clock: Clock) -> None:
    clock.skip_midnight()
    q.rows("select pgbaton.update_queue('q', retention => '2 days')")
    job = q.enqueue("q")
    complete(q)
    for _ in range(2):
        clock.advance("1 day")
        q.rows("select pgbaton.run_maintenance()")
        assert q.rows(WAIT, job) == [(job, "completed", None)]
    for _ in range(3):
        clock.advance("1 day")
        q.rows("select pgbaton.run_maintenance()")
    assert q.rows(WAIT, job) == [(job, None, None)]


def test_w03_a_wait_has_an_end(q: Session, races_dsn: str) -> None:
    """That the time is over is no failure: fewer rows, and the same call again goes on waiting."""
    job = q.enqueue("q")
    call = "select count(*) from pgbaton.wait_for_outcomes(array[%s::bigint], %s)"
    assert q.one(call, job, "50 ms") == 0
    for endless in (None, "2 days", "infinity"):
        assert q.refusal(call, job, endless) in ("22004", "22023"), endless
    with Client(races_dsn) as client:
        assert client.wait_for_outcomes([job], timedelta(milliseconds=50)) == []
        complete(q)
        assert [one.state for one in client.wait_for_outcomes([job])] == ["completed"]


def test_w04_the_connection_is_lost(q: Session, races_dsn: str) -> None:
    """The wait ends with an error, never hangs, and the next one connects again and looks."""
    job = q.enqueue("q")
    errors: list[str | None] = []
    name = f"waiter {job}"
    with Client(make_conninfo(races_dsn, application_name=name)) as client:
        client.job_outcomes([])

        def wait() -> None:
            try:
                client.wait_for_outcomes([job])
            except psycopg.OperationalError as error:
                errors.append(error.sqlstate)

        waiting = threading.Thread(target=wait)
        waiting.start()
        killed = q.one(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity"
            " where application_name = %s",
            name,
        )
        assert killed == 1
        complete(q)
        waiting.join(SECONDS)
        assert (waiting.is_alive(), len(errors)) == (False, 1)
        assert [one.state for one in client.wait_for_outcomes([job])] == ["completed"]


@pytest.mark.parametrize("waits", [1000, pytest.param(10_000, marks=pytest.mark.proof)])
def test_w05_nothing_is_left_of_a_wait(q: Session, races_dsn: str, waits: int) -> None:
    open_job = q.enqueue("q")
    ended = q.enqueue("q", run_at=datetime(2001, 1, 1).astimezone())
    q.rows("select pgbaton.delete_job('q', %s)", ended)
    name = f"waiter {open_job}"
    server = "select count(*), count(*) filter (where query ilike 'listen%%') from pg_stat_activity"

    async def wait_for_many() -> list[tuple[int, int]]:
        sizes = []
        async with AsyncClient(make_conninfo(races_dsn, application_name=name)) as client:
            for _ in range(3):
                for job in (open_job, ended):
                    await asyncio.gather(
                        *(
                            client.wait_for_outcomes([job], timedelta(milliseconds=n % 3))
                            for n in range(waits // 6)
                        )
                    )
                gc.collect()
                sizes.append((len(gc.get_objects()), len(asyncio.all_tasks())))
            assert q.rows(f"{server} where application_name = %s", name) == [(1, 0)]
        return sizes

    _, after_two, after_three = asyncio.run(wait_for_many())
    assert after_three[1] == after_two[1] == 1
    assert after_three[0] < after_two[0] + waits // 6, "an object for each wait"
    assert q.one("select count(*) from pgbaton.sleeper") == 0


def test_w06_many_wait_over_one_connection(q: Session, races_dsn: str) -> None:
    """Who waits for a job that never ends holds up nobody: between two looks nothing is held."""
    never, *jobs = q.enqueue_batch("q", 50)
    tokens = q.claim("q", 50)

    async def all_of_them() -> tuple[set[asyncio.Task[Any]], asyncio.Task[Any]]:
        async with AsyncClient(races_dsn) as client:
            endless = asyncio.create_task(client.wait_for_outcomes([never]))
            waiters = [asyncio.create_task(client.wait_for_outcomes([job])) for job in jobs]
            await asyncio.sleep(0)
            await asyncio.to_thread(q.complete, {job: tokens[job] for job in jobs})
            done, late = await asyncio.wait(waiters, timeout=SECONDS / 3)
            assert not late
            assert not endless.done()
            endless.cancel()
            return done, endless

    done, _ = asyncio.run(all_of_them())
    assert sorted(task.result()[0].job_id for task in done) == jobs


def test_w07_a_job_waits_for_its_child(q: Session, races_dsn: str) -> None:
    """By one worker, or in a queue that lets one run: explained, and the time ends it."""
    q.rows("select pgbaton.set_queue_limits('q', max_running => 1)")
    parent = q.enqueue("q")
    held = q.claim("q")
    child = q.enqueue("q")
    with Client(races_dsn) as client:
        assert client.wait_for_outcomes([child], timedelta(milliseconds=20)) == []
    assert q.claim("q") == {}
    why = q.one("select pgbaton.why_not_running(%s)", child)
    assert 'as many jobs of queue "q" run as its limit allows, 1' in why
    assert f"job {parent} of worker worker {q.pid} runs longest" in why
    q.complete(held)
    assert run_all(q) == [child]


@pytest.mark.parametrize("is_early", [True, False], ids=["before", "meanwhile"])
def test_w08_the_job_is_replaced(q: Session, open_session: Open, is_early: bool) -> None:
    replacing = (
        "select job_id from pgbaton.enqueue_jobs('q',"
        """ '[{"dedup_id": "d", "on_duplicate": "replace"}]')"""
    )
    first = q.one(replacing)
    waiting = None if is_early else seen_waiting(q, open_session())
    second = q.one(replacing)
    found = q.rows(WAIT, first) if waiting is None else waiting.rows()
    assert found == [(first, "unscheduled", "replaced")]
    by = q.one(
        "select (result ->> 'replaced_by')::bigint from pgbaton.job_outcomes(array[%s::bigint])",
        first,
    )
    assert by == second
    complete(q)
    assert q.rows(WAIT, by) == [(second, "completed", None)]


def test_w08_the_job_is_retried(q: Session, open_session: Open) -> None:
    """A retry is no end: the wait goes on for the same job."""
    job = q.enqueue("q")
    waiting = seen_waiting(q, open_session())
    for _ in range(2):
        assert fail(q, q.claim("q"), retry_in="0") == "retry"
        assert q.one("select count(*) from pgbaton.job_outcomes(array[%s::bigint])", job) == 0
    assert not waiting.future.done()
    complete(q)
    assert waiting.rows() == [(job, "completed", None)]


# T: retries ------------------------------------------------------------------------------------


@pytest.fixture
def later(db: Session, clock: Clock) -> Callable[[list[int]], list[float]]:
    """In how many seconds jobs run again."""
    clock.skip_midnight()
    return lambda jobs: [
        row[0]
        for row in db.rows(
            "select extract(epoch from j.run_at - pgbaton._now())::double precision"
            " from unnest(%s::bigint[]) with ordinality as i (id, no)"
            " cross join lateral pgbaton.get_job(i.id) as j order by i.no",
            jobs,
        )
    ]


Later = Callable[[list[int]], list[float]]


def fail_all(db: Session) -> list[int]:
    failed: list[int] = []
    while held := db.claim("q", 1000):
        db.rows(
            "select pgbaton.fail_jobs(%s, array_fill('no'::text, array[%s]), %s)",
            list(held), len(held), next(iter(held.values())),
        )  # fmt: skip
        failed += held
    return failed


def test_t01_a_thousand_that_fail_at_once(db: Session, later: Later, clock: Clock) -> None:
    """By default each wait is drawn between half of what the curve says and all of it."""
    db.rows("select pgbaton.create_queue('q', max_attempts => null)")
    db.enqueue_batch("q", 1000)
    for wait in (1, 2, 4, 8):
        waits = sorted(later(fail_all(db)))
        assert len(waits) == 1000
        assert wait / 2 <= waits[0] < 0.55 * wait
        assert 0.95 * wait < waits[-1] <= wait
        assert len(set(waits)) > 900
        assert max(b - a for a, b in pairwise(waits)) < wait / 20
        clock.advance("8 s")


@pytest.mark.parametrize("attempt", [25, 1000, 2**31 - 2])
def test_t02_growth_has_a_cap(db: Session, attempt: int) -> None:
    """Whatever the attempt: no wait above retry_delay_max, no overflow."""
    db.rows("select pgbaton.create_queue('q', max_attempts => null, retry_delay_max => '1 hour')")
    waits = [
        row[0]
        for row in db.rows(
            "select pgbaton._retry_delay(%s, null, q) from pgbaton.queue as q"
            " cross join generate_series(1, 100)",
            attempt,
        )
    ]
    assert timedelta(minutes=30) <= min(waits) <= max(waits) <= timedelta(hours=1)


CURVES: dict[str, tuple[dict[str, object], list[float]]] = {
    "constant": ({"retry_delay": "10 s", "retry_backoff": False}, [10, 10, 10]),
    "linear": ({"backoff_schedule": ["10 s", "20 s", "30 s"]}, [10, 20, 30]),
    "list": ({"backoff_schedule": ["1 s", "1 hour"]}, [1, 3600, 3600]),
    "exponential": ({"retry_delay": "10 s", "retry_backoff": True}, [10, 20, 40]),
}


@pytest.mark.parametrize("whose", ["queue", "job"])
@pytest.mark.parametrize("curve", CURVES)
def test_t03_any_curve(db: Session, later: Later, clock: Clock, whose: str, curve: str) -> None:
    options, expected = CURVES[curve]
    given = "".join(f", {name} => %({name})s" for name in options)
    db.conn.execute(
        f"select pgbaton.create_queue('q', max_attempts => 9{given if whose == 'queue' else ''})",
        options,
    )
    job = db.conn.execute(
        f"select pgbaton.enqueue_job('q', max_attempts => 9{given if whose == 'job' else ''})",
        options,
    ).fetchone()[0]
    for wait in expected:
        assert fail_all(db) == [job]
        [found] = later([job])
        assert found == wait if curve != "exponential" else wait / 2 <= found <= wait
        clock.advance("1 hour")


def test_t04_only_runs_are_counted(q: Session, clock: Clock) -> None:
    """Waiting for a place, a snooze, a pause and a worker that stops cost no attempt."""
    clock.skip_midnight()
    q.rows("select pgbaton.set_queue_limits('q', max_running => 1)")
    blocker = q.enqueue("q", priority=200)
    held = q.claim("q")
    assert list(held) == [blocker]
    job = q.enqueue("q")
    for _ in range(3):
        assert q.claim("q") == {}  # three waits for a place
    q.complete(held)
    for _ in range(3):
        [(snoozed, token)] = q.claim("q").items()
        q.rows("select pgbaton.release_jobs(array[%s::bigint], %s, '10 s')", snoozed, token)
        clock.advance("10 s")
    assert fail(q, q.claim("q"), retry_in="0") == "retry"
    assert q.rows("select attempt from pgbaton.get_job(%s)", job) == [(1,)]
    assert fail(q, q.claim("q"), retry_in="0") == "retry"
    assert fail(q, q.claim("q"), retry_in="0") == "failed"


def test_t05_a_setting_of_the_queue_is_read_at_the_failure(q: Session, later: Later) -> None:
    """What a job brings itself stays with it."""
    plain = q.enqueue("q")
    own = q.enqueue("q", retry_delay="7 s", retry_backoff=False)
    q.rows("select pgbaton.update_queue('q', retry_delay => '1 minute', retry_backoff => false)")
    assert fail_all(q) == [plain, own]
    assert later([plain, own]) == [60, 7]
    q.rows("select pgbaton.update_queue('q', retry_delay => '2 minutes')")
    assert later([plain, own]) == [60, 7], "a wait that has begun stays"


def test_t05_so_is_the_number_of_attempts(q: Session) -> None:
    plain, own = q.enqueue("q"), q.enqueue("q", max_attempts=3)
    q.rows("select pgbaton.update_queue('q', max_attempts => 1)")
    fail_all(q)
    assert [state(q, job) for job in (plain, own)] == ["failed", "retry"]


@pytest.mark.parametrize("fate", ["hangs before", "is killed", "hangs with the job"])
def test_t06_who_recovers_is_stuck_itself(
    q: Session, open_session: Open, clock: Clock, fate: str
) -> None:
    """Recovery is part of each claim."""
    clock.skip_midnight()
    first, second = q.enqueue_batch("q", 2)
    assert list(q.claim("q", 1, "5 s")) == [first]
    reaper = open_session()
    reaper.begin()
    reaper.rows("select pgbaton.run_maintenance()")
    clock.advance("6 s")
    if fate != "hangs before":
        reaper.rows("select pgbaton.recover_stale_jobs()")
    if fate == "is killed":
        q.rows("select pg_terminate_backend(%s, 30000)", reaper.pid)
    q.never_waits()
    others = [second] if fate == "hangs with the job" else [first, second]
    assert sorted(q.claim("q", 10)) == others, "nobody else has to wait"
    if fate == "hangs with the job":
        reaper.rollback()
        assert list(q.claim("q")) == [first]


def test_w02_outcomes_of_many_states_at_once(q: Session, races_dsn: str) -> None:
    """One row each, in the given order, also for what is gone or never was."""
    done, failed, open_job = q.enqueue_batch("q", 3)
    held = q.claim("q", 2)
    q.complete({done: held[done]})
    fail(q, {failed: held[failed]}, retryable=False)
    with Client(races_dsn) as client:
        found: list[JobOutcome] = client.job_outcomes([999_999, failed, open_job, done])
    assert [(one.job_id, one.state) for one in found] == [
        (999_999, None),
        (failed, "failed"),
        (done, "completed"),
    ]
