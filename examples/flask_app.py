"""An application that takes orders, and a worker that confirms them: Flask and SQLAlchemy.

pip install pgbaton flask sqlalchemy
export DATABASE_URL=postgresql://...
flask --app flask_app setup
flask --app flask_app run
flask --app flask_app worker
"""

from __future__ import annotations

import os

from flask import Flask, Response, jsonify, request
from sqlalchemy import create_engine, make_url
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    mapped_column,
    scoped_session,
    sessionmaker,
)

from pgbaton import Client, Worker, task
from pgbaton.install import install

DATABASE_URL = os.environ["DATABASE_URL"]
engine = create_engine(make_url(DATABASE_URL).set(drivername="postgresql+psycopg"))
db: scoped_session[Session] = scoped_session(sessionmaker(engine))
app = Flask(__name__)


class Base(DeclarativeBase):
    """The tables of this application."""


class Order(Base):
    """What a customer ordered."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    is_confirmed: Mapped[bool] = mapped_column(default=False)


@task("mail", max_attempts=5)
def confirm(order_id: int) -> None:
    """Sends a mail, which this example only prints."""
    with app.app_context():  # its end gives the session back
        order = db.get_one(Order, order_id)
        print(f"to {order.email}: we have your order {order.id}", flush=True)
        order.is_confirmed = True
        db.commit()


@app.post("/orders")
def place_order() -> tuple[Response, int]:
    order = Order(email=request.get_json()["email"])
    db.add(order)
    db.flush()  # gives it an id
    job_id = confirm.enqueue(db, order_id=order.id)
    db.commit()  # the order and its mail: both, or neither
    return jsonify(order_id=order.id, job_id=job_id), 201


@app.get("/jobs/<int:job_id>")
def look(job_id: int) -> Response:
    return jsonify(state=Client(connection=db).get_job(job_id).state)


@app.teardown_appcontext
def give_back(error: BaseException | None) -> None:
    db.remove()


@app.cli.command()
def setup() -> None:
    """Once, and after each upgrade of pgbaton `pgbaton upgrade`."""
    install(DATABASE_URL)
    Base.metadata.create_all(engine)
    with Client(DATABASE_URL) as client:
        client.create_queue("mail")


@app.cli.command("worker")
def run_worker() -> None:
    """Runs tasks until it is stopped."""
    worker = Worker(DATABASE_URL)
    worker.add(confirm)
    worker.run()
