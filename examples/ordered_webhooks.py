"""Webhooks that arrive in order per order, at receivers that fail.

    pip install 'pgbaton[embedded]'
    python examples/ordered_webhooks.py

A shop publishes what happens to its orders. Two receivers on this machine have subscribed:
`billing` to everything, `warehouse` to two kinds of events. They fail now and then: they answer 503
or 429, or too late, refuse connections at first, and one event is refused for good. Workers deliver
each event again until it is accepted. What happened to one order arrives in order all the same, and
other orders do not wait. Every attempt is printed, and what the receivers saw is checked.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import random
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg

import pgbaton
from pgbaton import AsyncClient, Client, RunningJob, Worker
from pgbaton.embedded import temporary_server
from pgbaton.install import install

ORDERS = 12
STEPS = ["created", "paid", "packed", "shipped", "delivered"]
SUBSCRIPTIONS = {"billing": ["order.*"], "warehouse": ["order.paid", "order.shipped"]}
SET_STEP = "insert into orders values (%s, %s) on conflict (id) do update set step = excluded.step"
ANSWER_WITHIN = 0.25  # seconds
LATER = (408, 425, 429)  # these, 500 and above: not now; other refusals are for good
LONGEST_WAIT = 3600  # seconds, whatever Retry-After says: the order waits as long
REFUSED = ("order-7", "packed")  # the event that billing never takes


# 1. Subscriptions -------------------------------------------------------------------------------
def subscribe(client: Client) -> None:
    """A FIFO queue for each subscriber, and the topics that it wants to hear of."""
    # Real webhooks wait 5 s to 5 min, then hours: the defaults of two_phase_backoff.
    backoff = client.two_phase_backoff(
        fast_retries=5,
        fast_min=timedelta(milliseconds=50),
        fast_max=timedelta(milliseconds=500),
        slow_retries=10,
        slow_delay=timedelta(seconds=1),
    )
    for queue, topics in SUBSCRIPTIONS.items():
        client.create_fifo_queue(
            queue,
            max_attempts=16,
            backoff_schedule=backoff,
            on_exhausted="continue",  # 'block' would hold the order's events until somebody looks
        )
        for topic in topics:
            client.subscribe(queue, topic)


# 2. Events --------------------------------------------------------------------------------------
def take_orders(dsn: str) -> int:
    """The shop: what it stores and what it publishes are one transaction. Returns the events."""
    events = 0
    with psycopg.connect(dsn) as conn:
        conn.execute("create table orders (id text primary key, step text not null)")
        conn.commit()
        for number, step in enumerate(STEPS, start=1):
            for order in (f"order-{n}" for n in range(1, ORDERS + 1)):
                with conn.transaction():
                    conn.execute(SET_STEP, [order, step])
                    event = {"order": order, "number": number, "step": step}
                    Client(connection=conn).publish(f"order.{step}", event, singleton_key=order)
                events += 1
    return events


# 3. Deliveries ----------------------------------------------------------------------------------
class Deliveries:
    """The handler of the workers, and a note of each attempt."""

    def __init__(self, ports: dict[str, int]) -> None:
        self.ports = ports
        self.answers: list[str] = []

    def deliver(self, job: RunningJob) -> dict[str, int]:
        """One attempt: returns if the receiver accepted the event, else raises."""
        try:
            status, wait = post(self.ports[job.queue], job)
        except OSError as error:
            self.note(job, type(error).__name__)
            raise pgbaton.Retry(repr(error)) from error
        self.note(job, str(status))
        if is_accepted(status):
            return {"status": status}
        if is_for_now(status):
            raise pgbaton.Retry(f"status {status}", after=wait)
        raise pgbaton.Fail(f"status {status}")  # it will never want it

    def note(self, job: RunningJob, answer: str) -> None:
        self.answers.append(answer)
        event = f"{job.queue:9}  {job.singleton_key:8}  {job.payload['step']:9}"
        # With its end, since handlers run side by side and print writes an end by itself.
        print(f"{event}  attempt {job.attempt}  {answer}\n", end="", flush=True)


def is_accepted(status: int | None) -> bool:
    return status is not None and 200 <= status < 300


def is_for_now(status: int | None) -> bool:
    """Whether another attempt makes sense; None: there was no answer."""
    return status is None or status >= 500 or status in LATER


def post(port: int, job: RunningJob) -> tuple[int, timedelta | None]:
    """Sends an event; returns the status, and how long the receiver wants to be left alone.

    The receiver knows a repeated event by its id.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_WITHIN)
    headers = {
        "Content-Type": "application/json",
        "Webhook-Id": str(job.id),
        "Webhook-Attempt": str(job.attempt),
    }
    with closing(connection):
        connection.request("POST", "/webhooks", json.dumps(job.payload), headers)
        response = connection.getresponse()
        return response.status, wait_of(response.getheader("Retry-After", ""))


def wait_of(retry_after: str) -> timedelta | None:
    """Seconds, or an instant as HTTP has it; None: it says nothing that makes sense."""
    try:
        if retry_after.isdecimal():
            seconds = float(retry_after)
        else:
            seconds = (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):  # the latter of an instant without a zone
        return None
    return timedelta(seconds=min(max(seconds, 0), LONGEST_WAIT))


async def deliver_all(dsn: str, deliveries: Deliveries, warehouse: Receiver) -> None:
    """Two workers, until nothing is left to deliver."""
    workers = [Worker(dsn) for _ in range(2)]
    async with AsyncClient(dsn) as client, asyncio.TaskGroup() as group:
        for worker in workers:
            for queue in SUBSCRIPTIONS:
                worker.handler(queue)(deliveries.deliver)
            group.create_task(worker.run_async())
        while not any(key.current_retry_count > 1 for key in await client.fifo_stats("warehouse")):
            await asyncio.sleep(0.02)
        warehouse.open()
        while any(stat.total > stat.dlq for stat in await client.queue_stats()):
            await asyncio.sleep(0.02)
        for worker in workers:
            worker.stop()


# 4. Receivers -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Arrival:
    """An event as a receiver saw it, and what it answered; None: nothing in time."""

    number: int
    status: int | None


def is_settled(status: int | None) -> bool:
    """It is over with the event: it was accepted, or refused for good."""
    return is_accepted(status) or not is_for_now(status)


@dataclass
class Receiver:
    """An HTTP server of a subscriber. Until it is opened, connections to it are refused."""

    name: str
    arrivals: dict[str, list[Arrival]] = field(default_factory=lambda: defaultdict(list))
    settled: set[str] = field(default_factory=set)
    is_open: bool = False
    is_closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler(), False)
        self.server.server_bind()  # the port is taken, but nobody listens

    def open(self) -> None:
        self.is_open = True
        self.server.server_activate()
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.is_closing.set()
        if self.is_open:
            self.server.shutdown()
        self.server.server_close()

    def receive(self, event: dict[str, Any], webhook_id: str, attempt: str) -> int | None:
        """Takes an event once: an attempt that seemed lost may come after its repetition."""
        if webhook_id in self.settled:
            return 200
        status = self.status_of(event, attempt)
        self.arrivals[event["order"]].append(Arrival(event["number"], status))
        if is_settled(status):
            self.settled.add(webhook_id)
        return status

    def status_of(self, event: dict[str, Any], attempt: str) -> int | None:
        """Chance, but the same in each run."""
        if self.name == "billing" and (event["order"], event["step"]) == REFUSED:
            return 422
        chance = random.Random(f"{self.name} {event} {attempt}").random()  # noqa: S311
        if chance < 0.3:
            return None if chance < 0.06 else 429 if chance < 0.1 else 503
        return 200 if self.name == "billing" else 202

    def handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                about = self.headers["Webhook-Id"], self.headers["Webhook-Attempt"]
                status = receiver.receive(event, *about)
                if status is None:
                    receiver.is_closing.wait()  # the answer that comes too late
                else:
                    self.send_response(status)
                    if status == 429:
                        self.send_header("Retry-After", "1")
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@contextmanager
def receivers() -> Iterator[dict[str, Receiver]]:
    """Billing listens from the start, the warehouse only when it is opened."""
    both = {name: Receiver(name) for name in SUBSCRIPTIONS}
    both["billing"].open()
    try:
        yield both
    finally:
        for receiver in both.values():
            receiver.close()


# 5. Was it in order? ----------------------------------------------------------------------------
def order_violations(arrivals: list[Arrival]) -> int:
    """Events of one order that came after a later one, or before an earlier one was settled."""
    violations = 0
    last, is_open = 0, False
    for arrival in arrivals:
        if arrival.number < last or (is_open and arrival.number != last):
            violations += 1
        last, is_open = max(last, arrival.number), not is_settled(arrival.status)
    return violations


def run(dsn: str) -> dict[str, int]:
    """All of it, in a database in which pgbaton is installed. Returns and prints the figures."""
    with Client(dsn) as client, receivers() as both:
        subscribe(client)
        events = take_orders(dsn)
        deliveries = Deliveries({name: r.server.server_port for name, r in both.items()})
        asyncio.run(deliver_all(dsn, deliveries, both["warehouse"]))
    with psycopg.connect(dsn) as conn:
        row = conn.execute(
            "select count(*), count(*) filter (where state = 'completed'),"
            " count(*) filter (where state = 'failed'), sum(attempt) from pgbaton.jobs"
        ).fetchone()
    assert row is not None
    jobs, completed, failed, attempts = map(int, row)
    seen = [arrivals for r in both.values() for arrivals in r.arrivals.values()]
    accepted = sum(len({a.number for a in arrivals if is_accepted(a.status)}) for arrivals in seen)
    figures = {
        "events": events,
        "deliveries": jobs,
        "accepted": completed,
        "given up": failed,
        "attempts": attempts,
        "failures": attempts - completed,
        "retries": attempts - jobs,
        "lost": completed - accepted,
        "order violations": sum(map(order_violations, seen)),
    }
    kinds = Counter(deliveries.answers)
    print(f"\nanswers: {', '.join(f'{count} x {kind}' for kind, count in kinds.most_common())}")
    print("".join(f"{name:17}{figure:4}\n" for name, figure in figures.items()), end="")
    if (kinds.total(), kinds["200"] + kinds["202"]) != (attempts, completed):
        raise RuntimeError("the workers and the database do not agree")
    if not kinds.keys() >= {"503", "429", "422", "TimeoutError", "ConnectionRefusedError"}:
        raise RuntimeError("not everything failed that should")
    return figures


def is_right(figures: dict[str, int]) -> bool:
    """Whether every event came to an end, in order, and none was lost."""
    ended = figures["accepted"] + figures["given up"]
    return ended == figures["deliveries"] and figures["lost"] == figures["order violations"] == 0


def main() -> int:
    """Runs it in a database of its own, which goes at the end."""
    logging.getLogger("pgbaton.worker").setLevel(logging.CRITICAL)  # it would say all of it again
    with temporary_server() as server:
        install(server.dsn())
        figures = run(server.dsn())
    return 0 if is_right(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
