"""Orders in SQLAlchemy, and mails about them that a worker sends.

pip install pgbaton sqlalchemy
export DATABASE_URL=postgresql://...
python sqlalchemy_app.py setup
python sqlalchemy_app.py order ada@example.com
python sqlalchemy_app.py worker
"""

from __future__ import annotations

import os
import sys

from sqlalchemy import create_engine, make_url
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from pgbaton import Client, Worker, task
from pgbaton.install import install

DATABASE_URL = os.environ["DATABASE_URL"]
engine = create_engine(make_url(DATABASE_URL).set(drivername="postgresql+psycopg"))
sessions = sessionmaker(engine)


class Base(DeclarativeBase):
    """The tables of this application."""


class Order(Base):
    """What a customer ordered."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    is_confirmed: Mapped[bool] = mapped_column(default=False)


@task("mail", max_attempts=5)
def confirm(order_id: int) -> str:
    """Sends a mail, which this example only prints."""
    with sessions.begin() as session:
        order = session.get_one(Order, order_id)
        print(f"to {order.email}: we have your order {order.id}", flush=True)
        order.is_confirmed = True
        return order.email


def place_order(session: Session, email: str) -> Order:
    """The order and its mail: both, or neither."""
    order = Order(email=email)
    session.add(order)
    session.flush()  # gives it an id
    confirm.enqueue(session, order_id=order.id)
    return order


def setup() -> None:
    """Once, and after each upgrade of pgbaton `pgbaton upgrade`."""
    install(DATABASE_URL)
    Base.metadata.create_all(engine)
    with Client(DATABASE_URL) as client:
        client.create_queue("mail")


def main() -> None:
    match sys.argv[1:]:
        case ["setup"]:
            setup()
        case ["order", email]:
            with sessions.begin() as session:
                print(f"order {place_order(session, email).id}")
        case ["worker"]:
            worker = Worker(DATABASE_URL)
            worker.add(confirm)
            worker.run()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
