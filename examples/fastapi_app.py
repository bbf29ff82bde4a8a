"""An API that takes orders, and a worker that confirms them: FastAPI, SQLAlchemy and asyncpg.

pip install pgbaton fastapi uvicorn 'sqlalchemy[asyncio]' asyncpg
export DATABASE_URL=postgresql://...
python fastapi_app.py setup
uvicorn fastapi_app:app
python fastapi_app.py worker
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from pydantic import BaseModel
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from pgbaton import AsyncClient, Client, UnknownJob, Worker, current_job, task
from pgbaton.install import install

DATABASE_URL = os.environ["DATABASE_URL"]


class Base(DeclarativeBase):
    """The tables of this application."""


class Order(Base):
    """What a customer ordered."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    is_confirmed: Mapped[bool] = mapped_column(default=False)


@asynccontextmanager
async def database() -> AsyncIterator[async_sessionmaker[AsyncSession]]:
    """Sessions for as long as the API or the worker lives."""
    engine = create_async_engine(make_url(DATABASE_URL).set(drivername="postgresql+asyncpg"))
    yield async_sessionmaker(engine, expire_on_commit=False)
    await engine.dispose()


# What the worker does


@task("mail", max_attempts=5)
async def confirm(order_id: int) -> None:
    """Sends a mail, which this example only prints."""
    sessions: async_sessionmaker[AsyncSession] = current_job().state
    async with sessions.begin() as session:
        order = await session.get_one(Order, order_id)
        print(f"to {order.email}: we have your order {order.id}", flush=True)
        order.is_confirmed = True


worker = Worker(DATABASE_URL)
worker.add(confirm)
worker.lifespan(database)


# What the API does


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    async with database() as sessions, AsyncClient(DATABASE_URL) as client:
        yield {"sessions": sessions, "client": client}


app = FastAPI(lifespan=lifespan)


async def open_session(request: Request) -> AsyncIterator[AsyncSession]:
    async with request.state.sessions() as session:
        yield session


async def get_client(request: Request) -> AsyncClient:
    client: AsyncClient = request.state.client
    return client


class NewOrder(BaseModel):
    """What is posted."""

    email: str


@app.post("/orders", status_code=201)
async def place_order(
    new: NewOrder, session: Annotated[AsyncSession, Depends(open_session)]
) -> dict[str, int]:
    order = Order(email=new.email)
    session.add(order)
    await session.flush()  # gives it an id
    job_id = await confirm.enqueue(session, order_id=order.id)
    await session.commit()  # the order and its mail: both, or neither
    return {"order_id": order.id, "job_id": job_id}


@app.get("/jobs/{job_id}")
async def look(job_id: int, client: Annotated[AsyncClient, Depends(get_client)]) -> dict[str, str]:
    try:
        job = await client.get_job(job_id)
    except UnknownJob as error:
        raise HTTPException(404, str(error.diag.message_primary)) from error
    return {"state": job.state}


async def create_tables() -> None:
    engine = create_async_engine(make_url(DATABASE_URL).set(drivername="postgresql+asyncpg"))
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    await engine.dispose()


def setup() -> None:
    """Once, and after each upgrade of pgbaton `pgbaton upgrade`."""
    install(DATABASE_URL)
    asyncio.run(create_tables())
    with Client(DATABASE_URL) as client:
        client.create_queue("mail")


def main() -> None:
    match sys.argv[1:]:
        case ["setup"]:
            setup()
        case ["worker"]:
            worker.run()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
