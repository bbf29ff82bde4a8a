"""Tasks that are run: in a test, and by `manage.py pgbaton_worker`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgbaton import Client, IncompatibleServer

Shop = psycopg.Connection[Any]


class Rollback(Exception):
    """Raised by a test to leave a block of transaction.atomic."""


@pytest.fixture
def in_test_case(shop: Shop) -> Any:
    """As in Django's TestCase: a block that is rolled back."""
    from django.db import transaction

    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def test_what_is_due_runs_within_a_test_case(in_test_case: None, shop: Shop) -> None:
    from shop.models import Order
    from shop.tasks import add, add_async, attempt, note, note_async

    from pgbaton.django.testing import run_tasks

    order = Order.objects.create()
    note.enqueue(order.id, "hello")
    results = [add.enqueue(1, b=2), add_async.enqueue(3, 4), attempt.enqueue(at_least=1)]
    ran = run_tasks()
    assert len(ran.completed) == 4
    for result, value in zip(results, [3, 7, 1], strict=True):
        result.refresh()
        assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", value, 1)
        assert result.finished_at >= result.started_at >= result.enqueued_at
        assert result.worker_ids == ["pgbaton.testing"]
    order.refresh_from_db()
    assert order.note == "hello"
    note_async.enqueue(order.id, "async")
    assert run_tasks(["mail"]).completed == []
    assert len(run_tasks().completed) == 1
    order.refresh_from_db()
    assert order.note == "async"
    assert shop.execute("select count(*) from pgbaton.jobs").fetchone() == (0,)


def test_a_task_that_fails(in_test_case: None) -> None:
    from shop.models import Order
    from shop.tasks import NoFunds, attempt, fail, note

    from pgbaton.django.testing import run_tasks

    result = fail.enqueue("broke")
    with pytest.raises(NoFunds, match="broke"):
        run_tasks()
    result.refresh()
    assert (result.status, result.is_finished, result.attempts) == ("READY", False, 1)
    [error] = result.errors
    assert error.exception_class is NoFunds
    assert "broke" in error.traceback
    assert "Traceback (most recent call last)" in error.traceback
    assert "raise NoFunds(kind)" in error.traceback

    again = attempt.enqueue(at_least=3)
    ran = run_tasks(raise_errors=False, advance=True, limit=200)
    assert ran.failed == [int(result.id)]
    again.refresh()
    result.refresh()
    assert (again.status, again.return_value, again.attempts) == ("SUCCESSFUL", 3, 3)
    assert [error.exception_class for error in again.errors] == [NoFunds, NoFunds]
    assert ["attempt 1" in again.errors[0].traceback, "attempt 2" in again.errors[1].traceback]
    assert result.status == "FAILED"
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value
    # An error of the database costs its task only, not the test.
    note.enqueue(Order.objects.create().id, None)  # null violates a constraint
    ran = run_tasks(raise_errors=False)
    assert len(ran.retried) == 1
    assert Order.objects.count() == 1


@pytest.mark.parametrize(
    ("kind", "said"), [("exit", "SystemExit"), ("object", "TypeError"), ("interrupt", "Keyboard")]
)
def test_whatever_a_task_raises_ends_its_attempt(kind: str, said: str, in_test_case: None) -> None:
    from shop.tasks import fail

    from pgbaton.django.testing import run_tasks

    result = fail.enqueue(kind)
    run_tasks(raise_errors=False)
    result.refresh()
    assert said in result.errors[0].traceback
    assert issubclass(result.errors[0].exception_class, BaseException)


def test_a_job_has_no_function_called_that_is_no_task(in_test_case: None) -> None:
    from pgbaton.django import client
    from pgbaton.django.testing import run_tasks

    ours = client()
    call = {"args": [], "kwargs": {}}
    wrong = [
        ours.enqueue_job("default", call, job_type="shop.tasks.no_task"),
        ours.enqueue_job("default", call, job_type="os.getcwd"),
        ours.enqueue_job("default", {"a": 1}, job_type="shop.tasks.add"),
    ]
    later = ours.enqueue_job("default", call, job_type="shop.tasks.of_a_newer_version")
    ran = run_tasks(raise_errors=False)
    assert sorted(ran.failed) == wrong
    assert ran.retried == [later]


def test_time_passes_for_run_after(in_test_case: None) -> None:
    from django.utils import timezone
    from shop.tasks import add

    from pgbaton.django import client
    from pgbaton.django.testing import run_tasks
    from pgbaton.testing import advance_clock

    result = add.using(run_after=timezone.now() + timedelta(days=1)).enqueue(1)
    assert not run_tasks()
    advance_clock(client(), timedelta(hours=23))
    assert not run_tasks()
    advance_clock(client(), timedelta(hours=2))
    assert run_tasks().completed == [int(result.id)]


def test_assert_task_enqueued(in_test_case: None) -> None:
    from shop.tasks import add, ship

    from pgbaton.django.testing import assert_task_enqueued

    with pytest.raises(AssertionError, match="has no jobs"):
        assert_task_enqueued(add)
    add.enqueue(1, b=2)
    ship.enqueue(7)
    assert_task_enqueued(add)
    assert_task_enqueued(add, [1], {"b": 2}, count=1)
    assert_task_enqueued(ship, [7], singleton_key="order 7", tags=["shop"])
    with pytest.raises(AssertionError) as caught:
        assert_task_enqueued(add, [1], {"b": 3})
    assert '-       "b": 3' in str(caught.value)
    assert '+       "b": 2' in str(caught.value)


def test_the_worker_runs_them(shop: Shop, caplog: pytest.LogCaptureFixture, site: str) -> None:
    from shop.models import Order
    from shop.tasks import add_async, attempt, fail, note, note_async, ship

    from pgbaton.django._framework import task_finished, task_started
    from pgbaton.django._worker import make_worker

    caplog.set_level(logging.INFO)
    before = connection_count(shop)
    told: list[tuple[str, str, str]] = []

    def tell(kind: str) -> Any:
        def receive(sender: Any, task_result: Any, **_: Any) -> None:
            told.append((kind, task_result.task.name, str(task_result.status)))
            raise RuntimeError("a receiver that is broken")

        return receive

    started, finished = tell("started"), tell("finished")
    task_started.connect(started)
    task_finished.connect(finished)
    one, two = Order.objects.create(), Order.objects.create()
    results = [
        note.enqueue(one.id, "sync"),
        note_async.enqueue(two.id, "async"),
        add_async.enqueue(1, 2),
        attempt.enqueue(at_least=2),
        *(ship.enqueue(one.id, step) for step in ("pack", "send")),
        fail.using(max_attempts=1).enqueue("broke"),
    ]
    worker = make_worker(worker_id="w")
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        for result in results:
            wait_until_finished(result)
    finally:
        worker.stop()
        thread.join(30)
        task_started.disconnect(started)
        task_finished.disconnect(finished)
    assert {order.id: order.note for order in Order.objects.all()} == {
        one.id: "sync",
        two.id: "async",
    }
    assert results[3].attempts == 2
    assert results[3].worker_ids == ["w", "w"]
    assert [result.status for result in results] == ["SUCCESSFUL"] * 6 + ["FAILED"]
    assert ("finished", "fail", "FAILED") in told
    assert ("finished", "attempt", "SUCCESSFUL") in told
    assert ("finished", "attempt", "FAILED") not in told
    [record] = [r for r in caplog.records if "state=FAILED" in r.getMessage()]
    assert record.exc_info
    # No thread of the worker keeps one of Django; this thread has opened its own.
    until(lambda: connection_count(shop) <= before + 1)


def connection_count(shop: Shop) -> int:
    """Of Django, to the database of the site."""
    return shop.execute(
        "select count(*) from pg_stat_activity where datname = current_catalog"
        " and application_name = '' and pid <> pg_backend_pid()"
    ).fetchone()[0]


def until(what: Callable[[], bool]) -> None:
    give_up = monotonic() + 30
    while not what():
        assert monotonic() < give_up
        sleep(0.02)


def wait_until_finished(result: Any) -> None:
    def is_finished() -> bool:
        result.refresh()
        return bool(result.is_finished)

    until(is_finished)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backend": "none"}, "none"),
        ({"queue": ["none"]}, "does not have"),
        ({"health": "8080"}, "health is '8080'"),
        ({"health": "192.0.2.1:80"}, "health cannot listen"),
        ({"shutdown_timeout": float("nan")}, "NaN"),
    ],
    ids=str,
)
def test_the_command_says_what_is_wrong(options: Any, said: str, site: str) -> None:
    from django.core.management import CommandError, call_command

    with pytest.raises(CommandError, match=said):
        call_command("pgbaton_worker", **options)


def test_without_a_database_the_command_says_so(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.core.management import CommandError, call_command
    from django.db import connection

    monkeypatch.setitem(connection.settings_dict, "PORT", "1")
    with pytest.raises(CommandError, match="connection failed"):
        call_command("pgbaton_worker", burst=True)


def test_without_pgbaton_the_advice_is_djangos(
    site: str, empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.core.management import CommandError, call_command
    from django.db import connection
    from shop.tasks import add

    connection.close()
    monkeypatch.setitem(connection.settings_dict, "NAME", conninfo_to_dict(empty_dsn)["dbname"])
    advice = "not installed in this database: run manage.py migrate$"
    with pytest.raises(IncompatibleServer, match=advice):
        add.enqueue(1)
    with pytest.raises(CommandError, match=advice):
        call_command("pgbaton_worker", burst=True)
    connection.close()


def test_the_worker_has_the_role_that_django_assumes(
    shop: Shop, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connection
    from shop.tasks import add

    from pgbaton.django._worker import make_worker

    app, login = "shop app \\ test", "pgbaton_test_login"
    shop.execute(
        f"""create role "{app}" in role pgbaton_producer, pgbaton_worker, pgbaton_monitor;
        create role {login} noinherit login password 'x' in role "{app}" """
    )
    try:
        connection.close()
        given = {"USER": login, "PASSWORD": "x"}
        given["OPTIONS"] = {"assume_role": app, "options": "-c application_name=theirs"}
        for name, value in given.items():
            monkeypatch.setitem(connection.settings_dict, name, value)
        add.enqueue(1)
        assert make_worker().run(burst=True).completed == 1
    finally:
        connection.close()
        shop.execute(f'drop role {login}; drop role "{app}"')


def tasks_with(**options: Any) -> Any:
    from django.conf import settings

    [default] = settings.TASKS.values()
    return {"default": {**default, "OPTIONS": {**default["OPTIONS"], **options}}}


def test_the_project_prepares_the_worker(in_test_case: None) -> None:
    from django.core.checks import run_checks
    from django.test import override_settings
    from shop.tasks import PREPARED, fail

    from pgbaton.django.testing import run_tasks

    with override_settings(TASKS=tasks_with(worker="shop.tasks.prepare")):
        assert not [found for found in run_checks() if "TASKS" in found.msg]
        id = int(fail.using(max_attempts=1).enqueue("broke").id)
        run_tasks(raise_errors=False)
    assert PREPARED.pop() == [id, "NoFunds('broke')"]
    seen: list[str] = []
    with override_settings(TASKS=tasks_with(worker=lambda worker: seen.append(worker.worker_id))):
        run_tasks()
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("worker", "said"),
    [
        ("shop.tasks.missing", "'worker' in OPTIONS of 'default': .*missing"),
        ("prepare", "'worker' in OPTIONS of 'default': .*prepare"),
        ("shop.tasks.PREPARED", "is 'shop.tasks.PREPARED': pass a function"),
        (17, "is 17: pass a function"),
    ],
)
def test_what_cannot_prepare_a_worker(worker: Any, said: str, site: str) -> None:
    from django.core.management import CommandError, call_command
    from django.test import override_settings

    with (
        override_settings(TASKS=tasks_with(worker=worker)),
        pytest.raises(CommandError, match=said),
    ):
        call_command("pgbaton_worker", burst=True)


def test_a_queue_that_is_missing(shop: Shop) -> None:
    from django.core.management import CommandError, call_command

    shop.execute("select pgbaton.drop_queue('mail')")
    with pytest.raises(CommandError, match=r'^queue "mail" does not exist .*: name it'):
        call_command("pgbaton_worker", queue=["mail"], burst=True)
    call_command("migrate", verbosity=0)
    with Client(connection=shop) as client:
        assert "mail" in {queue.queue for queue in client.list_queues()}


def test_a_worker_that_has_ended_leaves_no_connection(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where Django keeps them open: the database of a test is dropped next."""
    from django.core.management import call_command
    from django.db import connection
    from shop.models import Order
    from shop.tasks import note

    def others() -> set[int]:
        rows = shop.execute(
            "select pid from pg_stat_activity where datname = current_database()"
            " and pid <> pg_backend_pid() and backend_type = 'client backend'"
        )
        return {pid for (pid,) in rows}

    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)
    order = Order.objects.create()
    for number in range(10):
        note.enqueue(order.id, str(number))
    before = others()
    call_command("pgbaton_worker", burst=True)
    until(lambda: others() <= before)


def test_a_burst(shop: Shop) -> None:
    from django.core.management import CommandError, call_command
    from shop.tasks import add, fail

    result = add.enqueue(1)
    call_command("pgbaton_worker", burst=True)
    result.refresh()
    assert result.return_value == 2
    fail.using(max_attempts=1).enqueue("broke")
    with pytest.raises(CommandError, match="1 tasks failed"):
        call_command("pgbaton_worker", burst=True)
