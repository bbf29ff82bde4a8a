"""Each planted fault is caught by its net, and no net catches anything in the sound functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import scenarios
from checker import broken_rules
from controller import free_run
from faults import FAULTS, Fault, sound_script
from hypothesis import HealthCheck, Phase, settings
from machine import run_machine
from proof import record
from sessions import Session

SCENARIOS = sorted({f.net for f in FAULTS} - {"machine", "free_run"})
# Enough for every fault to be met, and no time for making the failure short.
SEARCH = settings(
    max_examples=600,
    stateful_step_count=50,
    phases=[Phase.generate],
    derandomize=True,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def install_script(dsn: str, script: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute(script.encode())


@contextmanager
def sessions_on(dsn: str) -> Iterator[Callable[[], Session]]:
    opened: list[Session] = []
    with psycopg.connect(dsn, autocommit=True) as observer:

        def open_one() -> Session:
            opened.append(Session(dsn, observer))
            return opened[-1]

        try:
            yield open_one
        finally:
            for session in opened:
                observer.execute("select pg_terminate_backend(%s)", [session.pid])
                session.close()


def play(scenario: str, dsn: str) -> None:
    with sessions_on(dsn) as open_session:
        getattr(scenarios, scenario)(open_session)


def search(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        run_machine(conn, SEARCH)


def is_caught_by_call(net: Callable[[str], None], dsn: str) -> bool:
    try:
        net(dsn)
    except (AssertionError, psycopg.Error, BaseExceptionGroup):
        return True
    return False


def is_caught_by_checker(script: str) -> bool:
    """A busy machine makes few calls in a run, so there is a second and a third one."""
    return any(breaks_a_rule(script, seed) for seed in (1, 2, 3))


def breaks_a_rule(script: str, seed: int) -> bool:
    try:
        done = free_run(
            10, seed, with_crashes=False, install_into=lambda dsn: install_script(dsn, script)
        )
    except AssertionError:
        return True  # the tables are not sound at the end
    return bool(broken_rules(done.history))


def is_caught(fault: Fault, make_database: Callable[[], str]) -> bool:
    script = fault.planted(sound_script())
    if fault.net == "free_run":
        return is_caught_by_checker(script)
    dsn = make_database()
    install_script(dsn, script)
    net: Callable[[str], Any] = search if fault.net == "machine" else lambda d: play(fault.net, d)
    return is_caught_by_call(net, dsn)


QUICK = (
    "the token of complete_job is not checked",
    "producers of a key do not wait for each other",
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(f, id=f.name, marks=[] if f.name in QUICK else pytest.mark.proof)
        for f in FAULTS
    ],
)
def test_a_planted_fault_is_caught(fault: Fault, make_database: Callable[[], str]) -> None:
    file = f"fault_{FAULTS.index(fault) + 1:02}"
    record(file, planted_faults=1, planted_faults_caught=0)
    assert is_caught(fault, make_database)
    record(file, planted_faults=1, planted_faults_caught=1)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_holds_in_the_sound_functions(scenario: str, dsn: str) -> None:
    play(scenario, dsn)


def test_a_fault_is_not_planted_in_nothing() -> None:
    lost = Fault("lost", "_promote", (("limit 99", "limit 2"),), "machine")
    with pytest.raises(ValueError, match="lost: _promote has 0 times: limit 99"):
        lost.planted(sound_script())


def test_every_fault_can_be_planted() -> None:
    script = sound_script()
    assert len({f.planted(script) for f in FAULTS}) == len(FAULTS) >= 14
