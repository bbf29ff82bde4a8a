"""Read by mypy only: each line that ends with an error code must be refused with it."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import assert_type

import psycopg

from pgbaton import AsyncClient, Client, Codec, RunningJob, Task, Worker, task


@task("mail", key=lambda order_id: order_id, max_attempts=5)
def send(order_id: uuid.UUID, copies: int = 1, *, urgent: bool = False) -> str:
    return "sent"


@task("mail")
async def send_later(order_id: uuid.UUID) -> int:
    return 1


def right(client: Client, conn: psycopg.Connection[object], order_id: uuid.UUID) -> None:
    assert_type(send.enqueue(client, order_id), int)
    assert_type(send.enqueue(conn, order_id, copies=2, urgent=True), int)
    assert_type(send.using(delay=timedelta(hours=1)).enqueue(conn, order_id=order_id), int)
    assert_type(send(order_id), str)
    client.enqueue_jobs("mail", [send.job(order_id), send_later.job(order_id)])


def decode(job: RunningJob) -> uuid.UUID:
    return uuid.UUID(job.payload)


def right_coders(dsn: str, codec: Codec) -> tuple[Client, AsyncClient, Worker]:
    worker = Worker(dsn, encode=codec.encode, decode=decode)
    return Client(dsn, encode=codec.encode), AsyncClient(dsn, encode=str), worker


async def right_too(
    client: AsyncClient, conn: psycopg.AsyncConnection[object], order_id: uuid.UUID
) -> None:
    assert_type(await send.enqueue(client, order_id), int)
    assert_type(await send_later.enqueue(conn, order_id), int)
    assert_type(await send_later(order_id), int)


def wrong(client: Client, other: AsyncClient, order_id: uuid.UUID) -> None:
    send.enqueue(client, "17")  # [call-overload]
    send.enqueue(client)  # [call-overload]
    send.enqueue(client, order_id, copy=2)  # [call-overload]
    send.enqueue(client, order_id, copies="2")  # [call-overload]
    send.enqueue(order_id)  # [call-overload]
    send.using(prio=2)  # [call-arg]
    send.using(priority="high")  # [arg-type]
    send.job("17")  # [arg-type]
    send("17")  # [arg-type]
    task("mail", max_attempts="3")  # [arg-type]
    takes_number(send.enqueue(other, order_id))  # [arg-type]
    takes_text_task(send)  # [arg-type]


def wrong_coders(dsn: str, codec: Codec) -> None:
    Client(dsn, encode=codec)  # [arg-type]
    AsyncClient(dsn, encode="json")  # [arg-type]
    Worker(dsn, decode=codec.decode)  # [arg-type]


async def forgets(client: AsyncClient, order_id: uuid.UUID) -> None:
    send.enqueue(client, order_id)  # [unused-coroutine]


def takes_number(number: int) -> None: ...


def takes_text_task(task: Task[[str], str]) -> None: ...
