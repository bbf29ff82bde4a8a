"""Tasks of an application, in a module that a process can import."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import pydantic

from pgbaton import Fail, current_job, task


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Line:
    product: UUID
    price: Decimal
    size: Size = Size.SMALL
    note: str | None = None


class Customer(pydantic.BaseModel):
    name: str
    born: date


@dataclass
class Order:
    lines: list[Line]
    customer: Customer
    at: datetime
    within: timedelta | None = None


@task("orders", key=lambda order_id: f"order {order_id}", aliases=["place"])
def place_order(order_id: int, order: Order, *, mode: Literal["a", "b"] = "a") -> Order:
    assert isinstance(order.customer, Customer)
    assert isinstance(order.lines[0].price, Decimal)
    return order


@task("mail", "letter")
async def send_letter(to: UUID, copies: int = 1) -> dict[str, Any]:
    return {"to": to, "copies": copies, "attempt": current_job().attempt}


@task("mail", process=True, rules={ZeroDivisionError: Fail()})
def divide(dividend: int, divisor: int) -> dict[str, Any]:
    return {"result": dividend // divisor, "pid": os.getpid(), "job": current_job().id}


@task("mail")
def anything(value: Any, values: dict[str, Any] | None = None) -> None: ...
