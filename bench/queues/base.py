"""What a queue has to do to be measured."""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import psycopg

from pgbaton._arguments import JsonList
from pgbaton._calls import JsonListDumper

psycopg.adapters.register_dumper(JsonList, JsonListDumper)

Connection = psycopg.Connection[Any]
QueueName = Literal["plain", "ordered"]
CHUNK = 1000  # jobs of a bulk enqueue
HOUR = 3600  # seconds of a lease: nothing ends during a measurement


class Consumer(NamedTuple):
    """One of some consumers, counted from 0."""

    place: int
    of: int

    @property
    def name(self) -> str:
        return f"w{self.place}"


class Claim(NamedTuple):
    """Claimed jobs; detail is what the acknowledgement needs besides the ids."""

    ids: Sequence[Any]
    payloads: Sequence[dict[str, Any]]
    detail: Any = None


NOTHING = Claim((), ())


class Queue(ABC):
    """A queue with an unordered queue `plain` and, if it knows keys, an ordered one, `ordered`.

    It is installed once into a database that is copied for each run, and then used by processes
    that were forked, each with its own connection in autocommit.
    """

    name: ClassVar[str]
    settings: ClassVar[str]  # how it is set up, for the reader of the figures
    keeps_states: ClassVar[bool] = True  # knows for each job whether it waits, runs, failed
    claims_batches: ClassVar[bool] = True
    acks_singly: ClassVar[bool] = True
    order: ClassVar[Literal["strict", "serial"] | None] = None  # of the jobs of a key
    orders_within_call: ClassVar[bool] = True  # jobs of a key that one bulk enqueue brings
    fill_depends_on_batch: ClassVar[bool] = False
    largest_backlog: ClassVar[int] = 1_000_000
    in_one_call: ClassVar[bool] = False  # a consumer acknowledges by ack_and_claim
    limits_running: ClassVar[bool] = False  # how many jobs of a queue may run at once
    version = "?"

    @abstractmethod
    def install(self, dsn: str) -> None:
        """Puts the queue into an empty database and notes its version."""

    @abstractmethod
    def enqueue_one(self, conn: Connection, payload: str, key: str | None = None) -> None:
        """Enqueues one job, given as JSON; with a key into `ordered`."""

    @abstractmethod
    def enqueue_many(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None = None
    ) -> None:
        """Enqueues jobs in one call, as many as there are."""

    @abstractmethod
    def claim(self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int) -> Claim:
        """Takes up to batch jobs; NOTHING if it gets none now."""

    @abstractmethod
    def ack(self, conn: Connection, queue: QueueName, claim: Claim) -> None:
        """Tells that all jobs of a claim are done."""

    @abstractmethod
    def left(self, conn: Connection) -> int | None:
        """Jobs that are not done; None if the queue cannot tell exactly."""

    def ack_and_claim(
        self, conn: Connection, queue: QueueName, consumer: Consumer, batch: int, last: Claim
    ) -> Claim:
        """Tells that the jobs of the last claim, NOTHING the first time, are done; takes others."""
        raise NotImplementedError

    def limit_running(self, conn: Connection, most: int | None) -> None:
        """At most so many jobs of `plain`, where nothing was claimed yet, may run at once."""
        raise NotImplementedError

    def enqueued(self, conn: Connection) -> int | None:
        """Jobs that were enqueued, before any is done."""
        return self.left(conn)

    def ack_one(self, conn: Connection, claim: Claim, place: int) -> None:
        """Tells that one job of a claim of `plain` is done."""
        detail = claim.detail[place] if isinstance(claim.detail, list) else claim.detail
        self.ack(conn, "plain", Claim(claim.ids[place : place + 1], (), detail))

    def fill(
        self, conn: Connection, payloads: Sequence[str], keys: Sequence[str] | None, batch: int
    ) -> None:
        """Enqueues many jobs, to be claimed in batches of a size."""
        for first in range(0, len(payloads), CHUNK):
            chunk = slice(first, first + CHUNK)
            self.enqueue_many(conn, payloads[chunk], keys[chunk] if keys else None)

    def background(self) -> Callable[[Connection], None] | None:
        """What has to be called every 20 ms while jobs are enqueued and claimed, if anything."""
        return None


def one(conn: Connection, statement: str, values: Sequence[Any] = ()) -> Any:
    """The only column of the only row."""
    row = conn.execute(statement, values).fetchone()
    assert row is not None
    return row[0]


def array(values: Sequence[str | int]) -> str:
    """Texts or ids as the text of an array: psycopg takes 7 µs for each text of a list."""
    texts = (str(value).replace("\\", r"\\").replace('"', r"\"") for value in values)
    return '{"' + '","'.join(texts) + '"}' if values else "{}"


def raw(conn: Connection, statement: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows of a statement whose parameters are $1, $2, …"""
    with psycopg.RawCursor(conn, row_factory=psycopg.rows.dict_row) as cursor:
        cursor.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


def with_keys(
    payloads: Sequence[str], keys: Sequence[str] | None
) -> Iterator[tuple[str, str | None]]:
    """Each payload with its key, if there are keys."""
    return zip(payloads, keys or itertools.repeat(None), strict=False)


def parsed(payload: Any) -> dict[str, Any]:
    """A payload that comes as text or bytes."""
    decoded: dict[str, Any] = json.loads(payload)
    return decoded
