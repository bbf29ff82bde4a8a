"""Each call undone by a savepoint before another one in the same transaction: as if never made."""

from __future__ import annotations

import random

import psycopg
import pytest
from proof import record
from test_old_snapshots import Matrix
from writing_calls import calls

Call = tuple[str, str]

LEVELS = ["read committed", "repeatable read", "serializable"]
POLICIES = ["fifo", "standard", "singleton"]
SLEEP = "select wait from pgbaton.wait_for_jobs('sleeper', null)"


def undone_and_made(matrix: Matrix, f: Call, g: Call, level: str, policy: str) -> None:
    scene = matrix.arrange(policy)
    matrix.b.rows(SLEEP)
    matrix.a.begin(level)
    matrix.a.rows("savepoint here")
    matrix.call(matrix.a, f, scene, "5")
    matrix.a.rows("rollback to here")
    failed = matrix.call(matrix.a, g, scene, "6")
    try:
        matrix.a.rows("rollback" if failed else "commit")
    except psycopg.Error as error:
        matrix.judge(f"commit of {g[0]}", error)
    matrix.check(g[0], "", level, policy, scene)


def run(matrix: Matrix, chosen: list[tuple[Call, Call, str, str]]) -> None:
    wrong = []
    for f, g, level, policy in chosen:
        try:
            undone_and_made(matrix, f, g, level, policy)
        except (AssertionError, psycopg.Error) as error:
            wrong.append(f"{level}, {policy}: {f[0]} undone, {g[0]}: {str(error)[:300]}")
            for session in (matrix.a, matrix.b, matrix.db):
                session.rows("rollback")
            matrix.clear()
    print(f"{len(chosen)} pairs, {len(wrong)} failed")
    assert not wrong, "\n".join(wrong[:40])


def cells() -> list[tuple[Call, Call, str, str]]:
    return [
        (f, g, level, p) for f in calls() for g in calls() for level in LEVELS for p in POLICIES
    ]


def test_a_sample_and_each_call_again(matrix: Matrix) -> None:
    again = [(f, f, "read committed", "fifo") for f in calls()]
    run(matrix, again + random.Random(15).sample(cells(), 60))


@pytest.mark.proof
@pytest.mark.timeout(1800)
def test_many_pairs(matrix: Matrix) -> None:
    chosen = random.Random(16).sample(cells(), 2_000)
    run(matrix, chosen)
    record("savepoints", snapshot_pairs=len(chosen))
