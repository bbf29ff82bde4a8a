"""`python manage.py test`."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.test import TestCase, TransactionTestCase
from django.utils import timezone

from pgbaton.django import client
from pgbaton.django.testing import assert_task_enqueued, run_tasks
from pgbaton.testing import advance_clock, clean, enqueued
from shop.models import Order
from shop.tasks import confirm, handle


class Orders(TestCase):
    """Each test is a transaction that is rolled back: tasks run in it, too."""

    def test_an_order_is_confirmed_and_handled(self) -> None:
        response = self.client.post(
            "/orders", {"email": "ada@example.com"}, content_type="application/json"
        )
        assert response.status_code == 201
        order = Order.objects.get(id=response.json()["order_id"])
        assert_task_enqueued(confirm, kwargs={"order_id": order.id}, count=1)
        assert_task_enqueued(handle, singleton_key=f"order {order.id}", count=2)

        assert len(run_tasks().completed) == 3

        order.refresh_from_db()
        assert order.is_confirmed
        assert order.steps == ["pack", "send"]
        look = self.client.get(f"/results/{response.json()['result_id']}")
        assert look.json() == {"status": "SUCCESSFUL"}

    def test_a_later_one(self) -> None:
        order = Order.objects.create(email="ada@example.com")
        tomorrow = timezone.now() + timedelta(days=1)
        confirm.using(run_after=tomorrow).enqueue(order_id=order.id)
        assert not run_tasks()
        advance_clock(client(), timedelta(days=1))
        assert run_tasks()

    def test_a_task_that_fails(self) -> None:
        result = confirm.enqueue(order_id=17)  # which does not exist
        with self.assertRaises(Order.DoesNotExist):  # noqa: PT027 - pytest is not needed
            run_tasks()
        result.refresh()
        assert result.errors[0].exception_class_path == "shop.models.Order.DoesNotExist"
        assert len(run_tasks(raise_errors=False, advance=True).failed) == 1

    def test_nothing_is_left_of_the_others(self) -> None:
        assert enqueued(client()) == []


class Committed(TransactionTestCase):
    """Tests that commit clean up themselves: Django does not know the tables of pgbaton."""

    def tearDown(self) -> None:
        clean(client())

    def test_a_block_that_is_rolled_back(self) -> None:
        with transaction.atomic():
            handle.enqueue(Order.objects.create(email="ada@example.com").id, step="pack")
            transaction.set_rollback(True)
        assert enqueued(client()) == []

    def test_a_block_that_is_committed(self) -> None:
        with transaction.atomic():
            order = Order.objects.create(email="ada@example.com")
            handle.enqueue(order.id, step="pack")
        assert len(run_tasks(["parcels"]).completed) == 1
        order.refresh_from_db()
        assert order.steps == ["pack"]
