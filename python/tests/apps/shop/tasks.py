"""Tasks, with Django's decorator and with ours."""

from __future__ import annotations

import sys
from typing import Any

from pgbaton import Worker
from pgbaton.django._framework import TaskContext
from pgbaton.django.tasks import task
from shop.models import Order

try:
    from django.tasks import task as plain_task
except ImportError:
    from django_tasks import task as plain_task


PREPARED: list[object] = []  # what the hook of the worker was told


class NoFunds(Exception):
    """An exception of the application."""


@plain_task
def add(a: int, b: int = 1) -> int:
    return a + b


@plain_task(priority=7, queue_name="mail")
async def add_async(a: int, b: int) -> int:
    return a + b


@plain_task(takes_context=True)
def attempt(context: TaskContext, at_least: int) -> int:
    if context.attempt < at_least:
        raise NoFunds(f"attempt {context.attempt}")
    return context.attempt


@task(dedup_id=lambda order_id, step: f"{order_id} {step}", on_duplicate="skip", tags=["shop"])
def remind(order_id: int, step: str = "pay") -> str:
    return step


@task(takes_context=True, dedup_id=lambda order_id: order_id)
def remind_once(context: TaskContext, order_id: int) -> int:
    return context.attempt


@plain_task
def note(order_id: int, text: str) -> None:
    assert Order.objects.filter(id=order_id).update(note=text) == 1


@plain_task
async def note_async(order_id: int, text: str) -> None:
    order = await Order.objects.aget(id=order_id)
    order.note = text
    await order.asave()


@plain_task
def fail(kind: str) -> Any:
    match kind:
        case "exit":
            sys.exit(3)
        case "object":
            return object()
        case "interrupt":
            raise KeyboardInterrupt
    raise NoFunds(kind)


@task(queue_name="orders", singleton_key=lambda order_id: f"order {order_id}", tags=["shop"])
def ship(order_id: int, step: str = "ship") -> str:
    return f"{step} {order_id}"


def no_task() -> None:
    raise AssertionError("a job must not call this")


def prepare(worker: Worker) -> None:
    worker.on_failed_for_good(lambda failed: PREPARED.append([failed.job.id, repr(failed.error)]))
