"""The backend for Django's tasks."""

from __future__ import annotations

import asyncio
import unittest
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgbaton import BadArguments, Client, DuplicateJob, KeyRequired, UnknownQueue

LATER = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
Shop = psycopg.Connection[Any]


class Rollback(Exception):
    """Raised by a test to leave a block of transaction.atomic."""


def job_count(shop: Shop) -> int:
    return shop.execute("select count(*) from pgbaton.jobs").fetchone()[0]


def test_enqueue_and_get_result(shop: Shop) -> None:
    from shop.tasks import add

    result = add.enqueue(2, b=3)
    assert (result.status, result.args, result.kwargs) == ("READY", [2], {"b": 3})
    assert result.backend == "default"
    assert result.attempts == 0
    again = add.get_result(result.id)
    assert (again.id, again.status, again.args, again.kwargs) == (result.id, "READY", [2], {"b": 3})
    assert abs(again.enqueued_at - result.enqueued_at) < timedelta(seconds=30)
    with Client(connection=shop) as client:
        job = client.get_job(int(result.id))
    assert (job.queue, job.job_type, job.priority) == ("default", "shop.tasks.add", 100)
    assert job.payload == {"args": [2], "kwargs": {"b": 3}}


def test_enqueue_without_blocking(shop: Shop) -> None:
    from shop.tasks import add_async

    async def main() -> Any:
        result = await add_async.aenqueue(2, 3)
        return result, await add_async.aget_result(result.id)

    result, again = asyncio.run(main())
    assert (again.id, again.status, again.args) == (result.id, "READY", [2, 3])
    assert again.task.priority == 7
    assert again.task.queue_name == "mail"


@pytest.mark.parametrize("priority", [-100, 0, 100])
def test_priority_and_run_after(priority: int, shop: Shop) -> None:
    from shop.tasks import add

    result = add.using(priority=priority, run_after=LATER).enqueue(1)
    with Client(connection=shop) as client:
        job = client.get_job(int(result.id))
    assert (job.priority, job.run_at) == (100 + priority, LATER)
    again = add.get_result(result.id)
    assert (again.task.priority, again.task.run_after) == (priority, LATER)


@pytest.mark.parametrize(
    "options",
    [{"priority": 101}, {"priority": -101}, {"priority": 1.5}, {"queue_name": "none"}],
    ids=str,
)
def test_what_django_refuses(options: dict[str, Any], shop: Shop) -> None:
    from shop.tasks import add

    with pytest.raises(Exception, match=r"priority must be|is not valid for backend"):
        add.using(**options).enqueue(1)
    with pytest.raises(Exception, match="aware"):
        add.using(run_after=LATER.replace(tzinfo=None))


@pytest.mark.parametrize("argument", [object(), datetime.now, {1, 2}, b"\xff"])
def test_arguments_that_json_has_not_are_refused_at_once(argument: Any, shop: Shop) -> None:
    from shop.tasks import add

    with pytest.raises((TypeError, ValueError), match="Unsupported"):
        add.enqueue(argument)
    assert job_count(shop) == 0


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("ending", ["commit", "rollback outer", "rollback inner"])
def test_a_job_belongs_to_the_block(ending: str, levels: int, shop: Shop) -> None:
    from django.db import transaction
    from shop.models import Order
    from shop.tasks import note

    try:
        with transaction.atomic():
            order = Order.objects.create()
            try:
                with transaction.atomic(savepoint=levels == 2):
                    note.enqueue(order.id, "hello")
                    assert job_count(shop) == 0
                    if ending == "rollback inner":
                        raise Rollback
            except Rollback:
                if levels == 1:
                    raise
            if ending == "rollback outer":
                raise Rollback
    except Rollback:
        pass
    kept = Order.objects.count(), job_count(shop)
    if ending == "commit":
        assert kept == (1, 1)
    elif ending == "rollback inner" and levels == 2:
        assert kept == (1, 0)
    else:
        assert kept == (0, 0)


def test_outside_a_block_it_is_there_at_once(shop: Shop) -> None:
    from shop.tasks import add

    add.enqueue(1)
    assert job_count(shop) == 1


def test_on_commit_works_too(shop: Shop) -> None:
    from django.db import transaction
    from shop.tasks import add

    with transaction.atomic():
        transaction.on_commit(lambda: add.enqueue(1))
        assert job_count(shop) == 0
    assert job_count(shop) == 1


def test_without_autocommit(shop: Shop) -> None:
    from django.db import transaction
    from shop.tasks import add

    transaction.set_autocommit(False)
    try:
        add.enqueue(1)
        assert job_count(shop) == 0
        transaction.rollback()
        add.enqueue(2)
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert job_count(shop) == 1


def test_a_result_that_does_not_exist_without_autocommit(shop: Shop) -> None:
    from django.db import transaction
    from shop.models import Order
    from shop.tasks import add

    from pgbaton.django._framework import TaskResultDoesNotExist

    transaction.set_autocommit(False)
    try:
        Order.objects.create()
        with pytest.raises(TaskResultDoesNotExist):
            add.get_result("123456789")
        Order.objects.create()  # the transaction goes on
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert Order.objects.count() == 2


@pytest.mark.parametrize("health_checks", [False, True])
def test_a_connection_that_was_lost_is_opened_again(
    health_checks: bool, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an error of the ORM, also in a process that does nothing but enqueue."""
    from django.core.signals import request_finished, request_started
    from django.db import connection
    from shop.tasks import add

    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", health_checks)
    connection.close()

    def request(step: str) -> None:
        request_started.send(None)
        if step == "lose":
            add.enqueue(1)
            pid = connection.connection.info.backend_pid
            shop.execute("select pg_terminate_backend(%s, 5000)", [pid])
        elif step == "notice":
            with pytest.raises(psycopg.OperationalError):
                add.enqueue(2)
        else:
            add.enqueue(3)
        request_finished.send(None)

    for step in ["lose", "find"] if health_checks else ["lose", "notice", "find"]:
        request(step)
    assert job_count(shop) == 2


def test_where_a_test_may_not_query_it_may_not_enqueue(shop: Shop) -> None:
    from django.test import SimpleTestCase
    from shop.tasks import add

    class Plain(SimpleTestCase):
        def runTest(self) -> None:
            with pytest.raises(AssertionError, match="not allowed in SimpleTestCase"):
                add.enqueue(2)

    add.enqueue(1)  # so that there is a connection
    outcome = unittest.TestSuite([Plain()]).run(unittest.TestResult())  # sets the class up, too
    assert (outcome.testsRun, outcome.failures, outcome.errors) == (1, [], [])
    assert job_count(shop) == 1


def test_a_refused_enqueue_spoils_the_block_as_an_error_of_the_orm_does(shop: Shop) -> None:
    from django.db import transaction
    from shop.models import Order
    from shop.tasks import add

    shop.execute("select pgbaton.drop_queue('default')")
    try:
        with transaction.atomic():
            Order.objects.create()
            with pytest.raises(UnknownQueue), transaction.atomic():
                add.enqueue(1)  # in a savepoint it costs only that
            Order.objects.create()
        assert Order.objects.count() == 2
        with transaction.atomic():
            Order.objects.create()
            with pytest.raises(UnknownQueue):
                add.enqueue(1)
            with pytest.raises(transaction.TransactionManagementError):
                Order.objects.create()
            with pytest.raises(transaction.TransactionManagementError):
                add.enqueue(1)
        assert Order.objects.count() == 2  # the block was rolled back
    finally:
        shop.execute("select pgbaton.create_queue('default')")


@pytest.mark.parametrize("in_block", [False, True])
@pytest.mark.parametrize(
    "id", [17, None, "", "x", "-1", "1.5", "123456789", "9" * 18, "9" * 30, "٣"]
)
def test_a_result_that_does_not_exist(id: Any, in_block: bool, shop: Shop) -> None:
    from contextlib import nullcontext

    from django.db import transaction
    from shop.tasks import add

    from pgbaton.django._framework import TaskResultDoesNotExist

    with transaction.atomic() if in_block else nullcontext():
        with pytest.raises(TaskResultDoesNotExist):
            add.get_result(id)
        add.enqueue(1)  # the block goes on
    assert job_count(shop) == 1


def test_the_result_of_another_task_and_of_no_task(shop: Shop) -> None:
    from shop.tasks import add, note

    from pgbaton.django._framework import TaskResultDoesNotExist

    with pytest.raises(Exception, match="does not match"):
        note.get_result(add.enqueue(1).id)
    with Client(connection=shop) as client:
        for job_type, payload in [
            ("shop.tasks.no_task", {"args": [], "kwargs": {}}),
            ("shop.tasks.gone", {"args": [], "kwargs": {}}),
            ("shop.tasks.add", {"a": 1}),
            ("", None),
        ]:
            id = client.enqueue_job("default", payload, job_type=job_type)
            with pytest.raises(TaskResultDoesNotExist):
                add.get_result(str(id))


def test_signals(shop: Shop) -> None:
    from shop.tasks import add

    from pgbaton.django._framework import task_enqueued
    from pgbaton.django.tasks import PgbatonBackend

    told: list[Any] = []

    def tell(sender: Any, task_result: Any, **_: Any) -> None:
        told.append((sender, task_result.id))

    task_enqueued.connect(tell)
    try:
        result = add.enqueue(1)
    finally:
        task_enqueued.disconnect(tell)
    assert told == [(PgbatonBackend, result.id)]


def test_keys_tags_and_dedup_ids(shop: Shop) -> None:
    from shop.tasks import add, ship

    first = ship.enqueue(7)
    second = ship.using(dedup_id="d", tags=["urgent"], priority=5).enqueue(order_id=7, step="bill")
    with Client(connection=shop) as client:
        jobs = [client.get_job(int(result.id)) for result in (first, second)]
    assert [(job.singleton_key, job.tags, job.dedup_id) for job in jobs] == [
        ("order 7", ["shop"], None),
        ("order 7", ["urgent"], "d"),
    ]
    assert jobs[0].max_attempts == 2  # as OPTIONS say of the queue
    with pytest.raises(DuplicateJob):
        ship.using(dedup_id="d").enqueue(7)
    assert ship.using(dedup_id="d", on_duplicate="skip").enqueue(7).id == second.id
    assert ship.using(singleton_key="other", max_attempts=9).singleton_key == "other"
    with pytest.raises(KeyRequired):
        add.using(queue_name="orders").enqueue(1)
    with pytest.raises(TypeError, match="order_id"):
        ship.enqueue(wrong=1)


def test_a_dedup_id_is_made_of_the_arguments(shop: Shop) -> None:
    from shop.tasks import remind, remind_once

    first = remind.enqueue(7)
    assert remind.enqueue(order_id=7, step="pay").id == first.id
    assert remind.enqueue(7, step="send").id != first.id
    assert remind.using(dedup_id="another").enqueue(7).id != first.id
    with Client(connection=shop) as client:
        assert client.get_job(int(first.id)).dedup_id == "7 pay"
    remind_once.enqueue(7)
    with pytest.raises(DuplicateJob):
        remind_once.enqueue(order_id=7)


@pytest.mark.parametrize("field", ["singleton_key", "dedup_id"])
@pytest.mark.parametrize(
    ("key", "made"),
    [
        (lambda order_id, **_: f"order {order_id}", "order 7"),
        (lambda **given: " ".join(map(str, given.values())), "7 ship"),
        (lambda step, order_id: order_id, "7"),
        (lambda: UUID(int=3), str(UUID(int=3))),
        ("always", "always"),
        (lambda order_id: None, None),
    ],
)
def test_what_keys_and_ids_are_made_of(field: str, key: Any, made: str | None, shop: Shop) -> None:
    from shop.tasks import remind

    given = {"dedup_id": "1", field: key}
    result = remind.using(queue_name="mail", **given).enqueue(7, step="ship")
    assert getattr(Client(connection=shop).get_job(int(result.id)), field) == made


@pytest.mark.parametrize("field", ["singleton_key", "dedup_id"])
@pytest.mark.parametrize(
    ("key", "said"),
    [
        (5, ": 5 is not a function: pass a str, or one of the arguments"),
        (lambda nobody: nobody, r" of remind is made of \['nobody'\], which it does not take"),
    ],
)
def test_a_key_that_cannot_be_made_is_refused_at_once(
    field: str, key: Any, said: str, site: str
) -> None:
    from shop.tasks import remind

    with pytest.raises(TypeError, match=field + said):
        remind.using(**{field: key})


@pytest.mark.parametrize("field", ["singleton_key", "dedup_id"])
@pytest.mark.parametrize("made", [1.5, True, [7], object()])
def test_a_key_is_no_text_of_just_anything(field: str, made: Any, shop: Shop) -> None:
    from shop.tasks import remind

    with pytest.raises(BadArguments, match=f"the {field} of remind is .*: make it a text"):
        remind.using(**{field: lambda order_id: made}).enqueue(7)


def test_a_text_is_no_list_of_tags(site: str) -> None:
    from shop.tasks import remind

    from pgbaton.django.tasks import task

    for wrong in (lambda: remind.using(tags="ab"), lambda: task(tags="ab")(remind.func)):
        with pytest.raises(TypeError, match="'ab' is one value: pass a list"):
            wrong()


def test_options_of_pgbaton_do_no_harm_with_another_backend(shop: Shop) -> None:
    from django.test import override_settings
    from shop.tasks import ship

    for kind in ("dummy.DummyBackend", "immediate.ImmediateBackend"):
        package = "django.tasks" if "django.tasks" in __import__("sys").modules else "django_tasks"
        path = f"{package}.backends.{kind}"
        with override_settings(TASKS={"default": {"BACKEND": path, "QUEUES": []}}):
            assert ship.enqueue(7).args == [7]
    assert job_count(shop) == 0


def test_one_round_trip(shop: Shop, tmp_path: Any) -> None:
    import re

    from django.db import connection, transaction
    from shop.models import Order
    from shop.tasks import add

    add.enqueue(0)
    log = tmp_path / "trace"
    with transaction.atomic(), log.open("w") as file:
        Order.objects.count()  # BEGIN is sent with the first statement
        connection.connection.pgconn.trace(file.fileno())
        add.enqueue(1)
        connection.connection.pgconn.untrace()
    assert len(re.findall(r"\tF\t\d+\t(?:Query|Sync)", log.read_text())) == 1
