"""Each call that writes as a part of two-phase commit: prepared, then committed or rolled back.

Whoever commits is another session, perhaps after a restart. Meanwhile claims of others wait for
nothing, a worker that lies down looks again, and afterwards all rules hold.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sessions import Session
from test_old_snapshots import Matrix
from writing_calls import calls

from pgbaton.embedded import temporary_server
from pgbaton.install import install

SLEEP = "select wait from pgbaton.wait_for_jobs('sleeper', null)"
ENDS = ["commit prepared 'cell'", "rollback prepared 'cell'"]


@pytest.fixture(scope="module")
def two_phase_dsn() -> Iterator[str]:
    with temporary_server(settings={"max_prepared_transactions": "5"}) as server:
        install(server.dsn(tcp=True))
        yield server.dsn(tcp=True)


@pytest.fixture
def matrix(two_phase_dsn: str) -> Iterator[Matrix]:
    with psycopg.connect(two_phase_dsn, autocommit=True) as observer:
        sessions = [Session(two_phase_dsn, observer) for _ in range(3)]
        yield Matrix(*sessions)
        sessions[0].rows("drop function public.scene, public.clear; drop procedure public.drain")
        for session in sessions:
            session.close()


def prepared_and_ended(matrix: Matrix, call: tuple[str, str], policy: str, end: str) -> None:
    scene = matrix.arrange(policy)
    for _ in range(2):
        matrix.db.rows(SLEEP)
    matrix.a.begin()
    matrix.a.rows("set local pgbaton.notify = off")
    if matrix.call(matrix.a, call, scene, "5"):
        matrix.a.rollback()
    else:
        matrix.a.rows("prepare transaction 'cell'")
        try:
            wait = others_go_on(matrix.b, scene["beside"])
        finally:
            matrix.b.rows(end)  # type: ignore[arg-type]
        if "enqueue" in call[0]:
            assert wait <= 0.2, f"a worker that lies down sleeps for {wait} s"
    matrix.check(call[0], "", "read committed", policy, scene)


def others_go_on(other: Session, queue: str) -> float:
    """Claims wait for nothing; how long a worker sleeps that lies down meanwhile."""
    other.never_waits()
    other.rows("select from pgbaton.claim_job_batch('w2', array[%s])", queue)
    for _ in range(3):
        wait = other.one(SLEEP)
    return float(wait.total_seconds())


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.timeout(300)
def test_each_call(matrix: Matrix, end: str) -> None:
    wrong = []
    for call in calls():
        try:
            prepared_and_ended(matrix, call, "fifo", end)
        except (AssertionError, psycopg.Error) as error:
            wrong.append(f"{call[0]}: {str(error)[:300]}")
            matrix.a.rollback()
            matrix.clear()
    print(f"{len(calls())} calls, {end}: {len(wrong)} failed")
    assert not wrong, "\n".join(wrong)


def test_with_notifications_it_is_the_server_that_refuses(matrix: Matrix) -> None:
    """What the docs say of the setting, and that it is needed at all."""
    scene = matrix.arrange("standard")
    for is_on in (True, False):
        matrix.db.rows(SLEEP)
        matrix.a.begin()
        if not is_on:
            matrix.a.rows("set local pgbaton.notify = off")
        matrix.a.enqueue(scene["queue"])
        refused = matrix.a.refusal("prepare transaction 'cell'")
        assert refused == ("0A000" if is_on else None)
    matrix.b.rows("commit prepared 'cell'")
