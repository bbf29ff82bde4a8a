"""What the worker does."""

from __future__ import annotations

from django.core.mail import mail_admins
from django.db import transaction

from pgbaton import Worker
from pgbaton.django.tasks import task
from shop.models import Order


@task(max_attempts=5)
def confirm(order_id: int) -> str:
    """Sends a mail, which this example only prints."""
    order = Order.objects.get(id=order_id)
    print(f"to {order.email}: we have your order {order.id}", flush=True)
    order.is_confirmed = True
    order.save()
    return order.email


@task(queue_name="parcels", singleton_key=lambda order_id: f"order {order_id}")
def handle(order_id: int, step: str) -> None:
    """One step after the other for each order, in the order in which they were enqueued."""
    with transaction.atomic():
        order = Order.objects.select_for_update().get(id=order_id)
        order.steps.append(step)
        order.save()


def prepare(worker: Worker) -> None:
    """Named by OPTIONS["worker"] in the settings: is given each worker before it runs."""
    worker.on_failed_for_good(lambda failure: mail_admins("A job failed", failure.message))
